/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The coll component of symmetric windows: its structures and what its files share. MPI sees one
 * module per intra-communicator, which sits in front of the component chosen without us and serves
 * the calls whose buffers lie in the communicator's symmetric windows.
 *
 * NOTE one call. coll_symm_call_begin() shows the call to all ranks and reads theirs: that is the
 * arrival barrier, the agreement on the plan and the exchange of offsets in one. The plan's work is
 * done with no waiting on the GPU. coll_symm_call_end() is the second barrier, which carries each
 * rank's outcome, so that all ranks return the same error class. */
#ifndef COLL_SYMM_H
#define COLL_SYMM_H

#include "symm_ompi_compat.h"

#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"

#include "coll_symm_plan.h"
#include "coll_symm_tuning.h"
#include "symm_spin.h"
#include "symm_window.h"

typedef struct mca_coll_symm_component {
    mca_coll_base_component_t super;
    int priority;
    int verbose;
    bool enable;
    /* As MCA gives them, and what they mean together. */
    int algorithm;
    size_t one_shot_max_system, one_shot_max_cuda;
    size_t scratch_bytes;
    size_t kernel_max;
    size_t spread_min;
    bool copy_engine_only;
    bool resident;
    unsigned resident_idle;
    unsigned max_sms;
    unsigned timeout;       /* seconds that a rank is waited for, 0 for ever */
    size_t copy_engine_min; /* bytes */
    size_t stage_bytes;
    char *tuning_file;                  /* NULL for none */
    coll_symm_tuning_t tuning;          /* of that file, empty for none */
    coll_symm_tuning_t built_in_tuning; /* holds where it says nothing */
    coll_symm_policy_t policy;          /* before the table is asked for a number of ranks */
} mca_coll_symm_component_t;

/* Open MPI finds the component by this name. */
SYMM_EXPORT extern mca_coll_symm_component_t mca_coll_symm_component;

/* A plan that has been told of, see coll_symm_report.c. */
typedef struct coll_symm_told {
    uint8_t collective, op, dtype, path, size_class;
} coll_symm_told_t;

#define COLL_SYMM_TOLD_MAX 128

/* Info keys of communicators, and the room for a value of theirs. */
#define COLL_SYMM_KEYS      6
#define COLL_SYMM_VALUE_MAX 48

/* Who serves a communicator's collectives without us: the functions, and their modules, of which we
 * hold references. */
#define COLL_SYMM_NEXT_FIELDS(enumerator, name)                                                    \
    __typeof__(((mca_coll_base_module_t *) NULL)->coll_##name) name;                               \
    mca_coll_base_module_t *name##_module;
typedef struct coll_symm_next {
    COLL_SYMM_LIST(COLL_SYMM_NEXT_FIELDS)
    COLL_SYMM_NONBLOCKING_LIST(COLL_SYMM_NEXT_FIELDS)
    COLL_SYMM_NEIGHBOR_LIST(COLL_SYMM_NEXT_FIELDS)
    COLL_SYMM_PERSISTENT_LIST(COLL_SYMM_NEXT_FIELDS)
} coll_symm_next_t;
#undef COLL_SYMM_NEXT_FIELDS

/* The copies that a data movement has ready to be done, as many as there are blocks on this rank.
 */
typedef struct coll_symm_copies {
    symm_move_t *moves; /* [2 * size]: in scratch, out of it */
    bool *local;        /* [2 * size] between memory of this rank */
    uint32_t count;
    bool started; /* others, which had gaps, are under way */
} coll_symm_copies_t;

/* A reduction through scratch: coll_symm_pipeline.c. */
typedef struct coll_symm_pipeline {
    symm_mapping_t *scratch;
    int rank, size;
    size_t element; /* bytes */
    int parts;      /* of a half: pieces that lie side by side */
    uint64_t piece; /* most elements of one */
    bool recv_near; /* kernels here reach this rank's output */
} coll_symm_pipeline_t;

/* A block of this rank's whose datatype has gaps: how much of it has been moved. */
typedef struct coll_symm_typed {
    char *address; /* what MPI calls the block's */
    symm_typecursor_t cursor;
} coll_symm_typed_t;

typedef enum coll_symm_side {
    COLL_SYMM_SEND_SIDE,
    COLL_SYMM_RECV_SIDE,
    COLL_SYMM_SIDES
} coll_symm_side_t;

/* Arrays that a call works with: the module's own for blocking calls, of which there is one at a
 * time. */
typedef struct coll_symm_work {
    coll_symm_descriptor_t *all; /* [size] what the ranks have shown */
    const void **src;            /* [size] of a reduction */
    void **dst;                  /* [size] */
    symm_block_t *row;         /* [size] this rank's blocks, for collectives with counts per rank */
    coll_symm_copies_t copies; /* of a data movement */
    coll_symm_pipeline_t pipeline;             /* of a reduction through scratch */
    coll_symm_typed_t *typed[COLL_SYMM_SIDES]; /* [size] NULL until there are gaps */
} coll_symm_work_t;

/* A persistent request: coll_symm_persistent.c. */
typedef struct coll_symm_persistent coll_symm_persistent_t;

typedef struct mca_coll_symm_module mca_coll_symm_module_t;
struct mca_coll_symm_module {
    mca_coll_base_module_t super;
    mca_coll_symm_module_t *next_module; /* of all of this process */
    symm_comm_t *comm;                   /* a reference; watch 0 sends every call on */
    ompi_communicator_t *ompi_comm;
    uint64_t pending_calls;      /* number of the latest nonblocking call */
    uint64_t pending_decided;    /* number of the latest one whose plan is chosen */
    uint64_t pending_passes;     /* of these, how many go to the next component, */
    uint64_t pending_passed;     /* and how many have gone */
    uint64_t scratch_turns;      /* how many nonblocking calls work through scratch, */
    uint64_t scratch_done;       /* and how many are done with it on all ranks */
    _Atomic bool misses_scratch; /* one had no scratch to work through */
    coll_symm_persistent_t *persistents;
    coll_symm_next_t next;
    coll_symm_policy_t policy; /* the component's, but for what info keys say */
    uint8_t policy_sum;
    bool one_policy; /* of all ranks, as the latest call has shown that all waited in */
    char values[COLL_SYMM_KEYS][COLL_SYMM_VALUE_MAX]; /* of info keys, in force */
    /* The window that a buffer was found in last, as long as windows_gone says that none has gone.
     */
    const symm_window_t *recent;
    uint64_t recent_gone;
    coll_symm_work_t work;
    /* The latest pair of handles that was looked up, and what it means. */
    MPI_Datatype known_datatype;
    MPI_Op known_op;
    symm_dtype_t dtype;
    symm_op_t op;
    coll_symm_told_t told[COLL_SYMM_TOLD_MAX];
    int told_count;
};

OBJ_CLASS_DECLARATION(mca_coll_symm_module_t);

typedef struct coll_symm_call coll_symm_call_t;

/* What a nonblocking call has beside: coll_symm_pending.c. */
typedef struct coll_symm_pending coll_symm_pending_t;

/* A collective's own steps, which look at the call's arguments. All but the first return an MPI
 * error class. */
typedef struct coll_symm_steps {
    /* Fills in the first part of the call. */
    void (*describe)(coll_symm_call_t *call);
    /* Calls the next component with these buffers in place of the caller's. */
    int (*next)(const coll_symm_call_t *call, const void *sbuf, void *rbuf);
    /* Does this rank's part of round call->round of the plan, with coll_symm_call_wait() for what
     * it starts; in round 0 it also tells in call->last_round whether there are more, come what
     * may. What a round reads, other ranks may have written in the round before. */
    int (*carry_out)(coll_symm_call_t *call);
    /* Starts the next component's nonblocking form on comm, with the functions and modules given.
     */
    int (*start_next)(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                      const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                      ompi_request_t **request_p);
    /* Makes the next component's persistent request. */
    int (*init_next)(const coll_symm_call_t *call, const void *sbuf, void *rbuf, ompi_info_t *info,
                     ompi_request_t **request_p);
} coll_symm_steps_t;

/* What a reduction has this rank do: of `count` elements of each input it gets [first, first +
 * own).
 */
typedef struct coll_symm_share {
    uint64_t count, first, own;
    const int *counts; /* [size] of scattered results, NULL: all ranks get alike */
} coll_symm_share_t;

/* The elements of a block, as the program described them where counts are not per rank. */
typedef struct coll_symm_elements {
    size_t count;
    const ompi_datatype_t *type;
} coll_symm_elements_t;

/* What becomes of a call's work. */
typedef enum coll_symm_mode {
    COLL_SYMM_BLOCKING,    /* it is done and waited for */
    COLL_SYMM_NONBLOCKING, /* it is started, with nothing to wait for in between */
    COLL_SYMM_PERSISTENT,  /* it is noted, likewise, to be done with each start */
} coll_symm_mode_t;

/* A call under way, on the caller's stack. Each collective fills what stands first. */
struct coll_symm_call {
    mca_coll_symm_module_t *module;
    const coll_symm_steps_t *steps;
    coll_symm_mode_t mode;
    const void *arguments; /* the collective's own, for its steps */
    const void *sbuf;      /* as the program gave them, MPI_IN_PLACE included */
    void *rbuf;
    const char *send; /* first byte of the input: in sbuf, or the part of rbuf that is it */
    size_t send_len;  /* bytes it spans, gaps included; 0 where this rank has none */
    char *recv;       /* the same of the output */
    size_t recv_len;
    coll_symm_elements_t elements[COLL_SYMM_SIDES];
    coll_symm_share_t share;     /* of reductions */
    coll_symm_descriptor_t mine; /* collective, bytes, flags, root, op, dtype; the rest is placed */
    uint64_t number;
    coll_symm_plan_t plan;
    uint64_t round, last_round;  /* of the plan's work: all ranks end one before they go on */
    uint32_t blocks;             /* of the kernel that was launched, 0 for none */
    bool resident;               /* the work went to the resident kernel */
    const symm_window_t *window; /* the latest one looked up */
    coll_symm_work_t *work;
    coll_symm_pending_t *pending; /* of a nonblocking call */
    symm_tasks_t *tasks;          /* of a persistent call: where its work is noted, */
    symm_pending_t *places;       /* [size] where its starts take place, by rank, */
    symm_mapping_t *scratch;      /* and its scratch, NULL for none */
};

/* ---- coll_symm_module.c ---- */
int mca_coll_symm_init_query(bool enable_progress_threads, bool enable_mpi_threads);
mca_coll_base_module_t *mca_coll_symm_comm_query(ompi_communicator_t *comm, int *priority);

/* The enabled module of comm, NULL when it has none. */
mca_coll_symm_module_t *coll_symm_module_of(const ompi_communicator_t *comm);

/* ---- coll_symm_policy.c: what users want, by parameter and by info key ---- */

/* Registers the parameters. */
void coll_symm_policy_register(void);

/* Puts the parameters together; called when all are known. */
void coll_symm_policy_init(void);

/* Gives a communicator the component's policy, and follows the info keys that are set on it: of
 * much the parameters' names, as "coll_symm_algorithm". */
void coll_symm_policy_attach(mca_coll_symm_module_t *module, ompi_communicator_t *comm);

/* ---- coll_symm_datatype.c: MPI handles to what kernels know ---- */

/* Whether plans know datatype and op together; if so, the module's dtype and op are set. */
bool coll_symm_known(mca_coll_symm_module_t *module, MPI_Datatype datatype, MPI_Op op);

/* ---- coll_symm_call.c: the course of a call ---- */

/* Whether collectives go to the next component unseen: no window matters to them. */
static inline bool coll_symm_asleep(const mca_coll_symm_module_t *module)
{
    const symm_comm_t *comm = module->comm;
    return 0 == atomic_load_explicit(&comm->watch, memory_order_relaxed) || comm->setting_up;
}

/* Fills in where the call's buffers begin and what they span, and whether they have gaps: at buf,
 * one block for all ranks or one for each, of count elements of datatype. Returns whether plans can
 * know these, and each has len bytes of data. */
bool coll_symm_call_input(coll_symm_call_t *call, const void *buf, int blocks, size_t count,
                          const ompi_datatype_t *datatype, size_t len);
bool coll_symm_call_output(coll_symm_call_t *call, void *buf, int blocks, size_t count,
                           const ompi_datatype_t *datatype, size_t len);

/* What a rank passes where counts are per rank: counts [size], displacements [size] in extents of
 * type; or in bytes, with types [size]. Without counts each has as many elements, and without
 * displacements one is behind the other, or all are the same. */
typedef struct coll_symm_vector {
    const int *counts;
    size_t each; /* elements, without counts */
    bool same;   /* without displacements */
    const int *disps;
    ompi_datatype_t *type;
    ompi_datatype_t *const *types; /* NULL: all are of type */
    const MPI_Aint *byte_disps;    /* instead of disps, with types */
} coll_symm_vector_t;

/* What MPI calls the address of block p of v at buf. */
const char *coll_symm_vector_block(const void *buf, const coll_symm_vector_t *v, int p);

/* Bytes that the first count blocks of v at buf span, gaps included, from *start_p on. */
size_t coll_symm_vector_span(const void *buf, const coll_symm_vector_t *v, int count,
                             const char **start_p);

/* The same where counts are per rank, which fills that side of the call's row, too. Returns whether
 * plans can know the blocks. For outputs, bytes becomes those of the largest from another rank. */
bool coll_symm_call_inputs(coll_symm_call_t *call, const void *buf, const coll_symm_vector_t *v);
bool coll_symm_call_outputs(coll_symm_call_t *call, void *buf, const coll_symm_vector_t *v);

/* Fill that side of the row where this rank has one block of len bytes of data, for or from whoever
 * it is. */
void coll_symm_call_one_input(coll_symm_call_t *call, size_t len);
void coll_symm_call_one_output(coll_symm_call_t *call, size_t len);

/* Makes a blocking call from its arguments: agreement, plan, report. The next component does it
 * where no window matters, where there is nothing to agree on (a collective described as
 * COLL_SYMM_NONE has no plans; its GPU buffers are staged), and where the plan says so. Returns an
 * MPI error class.
 */
int coll_symm_call_serve(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                         const void *arguments, const void *sbuf, void *rbuf);

/* ---- coll_symm_agree.c: the steps around a plan ---- */

/* Whether calls are agreed on: the communicator sees a window, and no rank wants its collectives
 * elsewhere. Alike on all ranks, which all call it, since the control block is made where it is
 * missing. */
bool coll_symm_call_open(mca_coll_symm_module_t *module);

/* Describes where the call's buffers lie: sets places, windows, offsets and flags. */
void coll_symm_call_place(coll_symm_call_t *call);

/* Shows the call and reads the others', then chooses the plan. Waits for all ranks, in an eager
 * call for those that this one needs, driving progress. The input is copied into the slot when it
 * is flagged as payload, the call's row where counts are per rank. Returns MPI_SUCCESS, or
 * COLL_SYMM_BROKEN, and then there is no plan. */
int coll_symm_call_begin(coll_symm_call_t *call);

/* The steps of that, none of which waits: shows the call, whose number is set; looks whether rank
 * has shown its call of that number, and copies the description if so; chooses the plan once all
 * have. */
void coll_symm_call_show(const coll_symm_call_t *call);
bool coll_symm_call_seen(const coll_symm_call_t *call, int rank);
void coll_symm_call_choose(coll_symm_call_t *call);

/* Waits for what was started on mapping's queue, also for what a failure left behind: rc tells how
 * the start went. In a nonblocking call this notes the queue, to be waited for later; in a
 * persistent one nothing was started. Returns an MPI error class. */
int coll_symm_call_wait(coll_symm_call_t *call, symm_mapping_t *mapping, int rc);

/* The barrier between two rounds, in the same number on all ranks whatever failed: orders what each
 * rank wrote before it with what any rank reads behind it. Drives progress. Returns rc, or
 * COLL_SYMM_BROKEN when that is MPI_SUCCESS and some rank has given up. */
int coll_symm_call_step(const coll_symm_call_t *call, int rc);

/* The steps of that, none of which waits: comes to the end of the round; looks whether rank has. */
void coll_symm_call_arrive(const coll_symm_call_t *call);
bool coll_symm_call_has_arrived(const coll_symm_call_t *call, int rank);

/* Ends the plan's work: tells the others how it went here and learns how it went there. Waits for
 * all ranks. Returns MPI_SUCCESS, or the error class of the lowest rank that failed, or
 * COLL_SYMM_BROKEN. */
int coll_symm_call_end(const coll_symm_call_t *call, int rc);

/* The steps of that, none of which waits: leaves the call; looks whether rank has left it; and how,
 * if so. */
void coll_symm_call_leave(const coll_symm_call_t *call, int rc);
bool coll_symm_call_has_left(const coll_symm_call_t *call, int rank);
int coll_symm_call_left_code(const coll_symm_call_t *call, int rank);

/* Whether this rank does its part of the plan for itself, with no word from the others at the end.
 */
bool coll_symm_call_is_alone(const coll_symm_call_t *call);

/* The same once more, for work behind the end: what a rank has staged goes back to its GPU. */
int coll_symm_call_end_again(coll_symm_call_t *call, int rc);

/* The address of rank's input or output in this process, NULL when its window is not known here. */
const void *coll_symm_call_send_of(coll_symm_call_t *call, int rank);
void *coll_symm_call_recv_of(coll_symm_call_t *call, int rank);

/* The scratch that the call works through, NULL when there is none. */
symm_mapping_t *coll_symm_call_scratch(const coll_symm_call_t *call);

/* What rank pushed into its slot. Of this rank it is the input itself, unless that is in the way of
 * the output: what has just been written to a slot takes long to be read back. */
const void *coll_symm_call_payload_of(const coll_symm_call_t *call, int rank);

/* The row of blocks that rank showed, where counts are per rank. */
const symm_block_t *coll_symm_call_row_of(const coll_symm_call_t *call, int rank);

/* The mapping whose device and queue serve the plan: that of this rank's output if it lies in a
 * window of the plan's kind, else of its input, else of any rank's buffer. NULL when the window is
 * not known here. */
symm_mapping_t *coll_symm_call_mapping(coll_symm_call_t *call);

/* ---- coll_symm_wait.c: for how long ranks wait for one another ---- */

/* What collectives return once the communicator is broken: a rank has given up waiting for another
 * one. No call is agreed on any more, since nobody knows how far each rank is. */
#define COLL_SYMM_BROKEN MPI_ERR_OTHER

static inline bool coll_symm_is_broken(const symm_comm_t *comm)
{
    return 0 != atomic_load_explicit(&comm->control->broken, memory_order_relaxed);
}

/* A wait for other ranks. Time counts while this rank looks: not what it computes in between. */
typedef struct coll_symm_wait {
    symm_spin_t spin;
    uint64_t looked_ms; /* when the clock was looked at last, 0 at first */
    uint64_t waited_ms;
} coll_symm_wait_t;

/* Looks at the awaited condition between two looks at the clock. */
#define COLL_SYMM_WAIT_ROUNDS 64

/* Whether rank has come to where a call waits for it. */
typedef bool coll_symm_has_come_fn_t(const coll_symm_call_t *call, int rank);

/* Whether to go on waiting for the ranks that have not come. If not, the communicator is broken: it
 * was already, or this wait has taken longer than the program allows, which is logged once. Local.
 */
bool coll_symm_wait_on(const coll_symm_call_t *call, coll_symm_has_come_fn_t *has_come,
                       coll_symm_wait_t *wait);

/* For those who look again and again by themselves, with nothing to wait for where has_come is
 * NULL: whether the communicator is broken. Looks at that now and then. */
static inline bool coll_symm_wait_is_vain(const coll_symm_call_t *call,
                                          coll_symm_has_come_fn_t *has_come, coll_symm_wait_t *wait)
{
    return NULL != has_come && 0 == ++wait->spin.rounds % COLL_SYMM_WAIT_ROUNDS &&
           !coll_symm_wait_on(call, has_come, wait);
}

/* Waits for these ranks, driving progress; to has_come all others have come. Returns whether they
 * have; if not, the communicator is broken. */
static inline bool coll_symm_wait_for(const coll_symm_call_t *call, coll_symm_ranks_t ranks,
                                      coll_symm_has_come_fn_t *has_come)
{
    coll_symm_wait_t wait = {.spin = SYMM_SPIN_INIT};
    for (int r = ranks.first; r < ranks.end; ++r) {
        while (!has_come(call, r)) {
            symm_spin_once(&wait.spin);
            if (0 == wait.spin.rounds % COLL_SYMM_WAIT_ROUNDS &&
                !coll_symm_wait_on(call, has_come, &wait)) {
                return false;
            }
        }
    }
    return true;
}
/* The same for all ranks. */
static inline bool coll_symm_wait_for_all(const coll_symm_call_t *call,
                                          coll_symm_has_come_fn_t *has_come)
{
    coll_symm_ranks_t all = {0, call->module->comm->exchange.size};
    return coll_symm_wait_for(call, all, has_come);
}

/* ---- coll_symm_eager.c: small calls that not all ranks wait in ---- */

/* Brings the input of an eager call into this rank's slot where that takes more than a copy of host
 * memory. A failure is logged and shown in the slot, in the descriptor's flags. */
void coll_symm_eager_load(coll_symm_call_t *call, void *slot);

/* The error class of a failure of that kind, of this rank or one that it has waited for. */
int coll_symm_eager_outcome(const coll_symm_call_t *call);

/* Takes len bytes of a slot to where byte `at` of the output's data is, where no cursor is kept for
 * its gaps. Returns an MPI error class, with the cause logged. */
int coll_symm_take(const coll_symm_call_t *call, const char *from, size_t at, size_t len);

/* ---- coll_symm_work.c: what a call works with, and how its work is begun ---- */

/* Makes the arrays for size ranks. MPI_ERR_NO_MEM on failure; then, too, they want freeing. */
int coll_symm_work_create(coll_symm_work_t *work, int size);
void coll_symm_work_free(coll_symm_work_t *work);

/* Start what the entries of mapping's table of these names do (symm_device.h), on its queue; in a
 * persistent call they note it. Return an MPI error class. */
int coll_symm_work_copy(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                        symm_lane_t lane, void *dst, const void *src, size_t len);
int coll_symm_work_copy_many(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                             const symm_move_t *moves, uint32_t count, uint32_t blocks_per_move);
int coll_symm_work_reduce(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                          const symm_reduce_t *reduce, uint32_t blocks);

/* The same for what this host does at once, in its own memory; and for the copy of a rank that is
 * alone, in any memory, which may be a GPU's. */
int coll_symm_work_copy_here(const coll_symm_call_t *call, void *dst, const void *src, size_t len);
int coll_symm_work_reduce_here(const coll_symm_call_t *call, const symm_reduce_t *reduce);
int coll_symm_work_copy_alone(const coll_symm_call_t *call, void *dst, const void *src, size_t len);

/* ---- coll_symm_move.c: data movements ---- */

/* The plan's work of every collective that only moves data. */
int coll_symm_move(coll_symm_call_t *call);

/* ---- coll_symm_typed.c: blocks of datatypes with gaps ---- */

/* Keeps the blocks of v at buf as that side of the call, none of them moved yet, and notes that
 * they have gaps. Returns whether their datatypes can be walked; false also when memory is short.
 */
bool coll_symm_typed_keep(coll_symm_call_t *call, coll_symm_side_t side, const void *buf,
                          const coll_symm_vector_t *v);

/* One end of a transfer. */
typedef struct coll_symm_end {
    char *bytes;              /* memory without gaps, */
    coll_symm_typed_t *typed; /* or what comes next of a block with gaps, NULL for none */
    bool known;               /* the device reaches it: it is scratch, or another rank's window */
} coll_symm_end_t;

/* Starts moving the next len bytes from src to dst, of which one has gaps at least: on mapping's
 * queue, which is to be waited for then; or, without a mapping, at once. Returns an MPI error
 * class. */
int coll_symm_typed_move(coll_symm_call_t *call, symm_mapping_t *mapping, coll_symm_end_t dst,
                         coll_symm_end_t src, size_t len);

/* ---- coll_symm_combine.c: reductions ---- */

/* Fills in what count elements of datatype mean to op: bytes, type, operation, flags, and the count
 * of the share. */
void coll_symm_describe_reduction(coll_symm_call_t *call, size_t count,
                                  const ompi_datatype_t *dtype, MPI_Op op);

/* The plan's work of every collective that combines elements. */
int coll_symm_combine(coll_symm_call_t *call);

/* The elements of the inputs, [*first_p, *first_p + *own_p), that rank's result is of, for all that
 * get one; and of how many ranks' inputs, from rank 0 on. */
void coll_symm_share_of(const coll_symm_call_t *call, int rank, uint64_t *first_p, uint64_t *own_p);
int coll_symm_ranks_for(const coll_symm_call_t *call, int rank);

/* Blocks for the kernel of a reduction of `bytes` bytes of each source, 0 on the host. */
uint32_t coll_symm_reduce_blocks(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                                 uint64_t bytes);

/* ---- coll_symm_pipeline.c: reductions through scratch ---- */

/* This rank's part of a round of the paths that name the scratch. */
int coll_symm_combine_through_scratch(coll_symm_call_t *call);

/* ---- coll_symm_report.c ---- */

/* Notes the plan for symm_plan_query(), counts it, and logs it the first time (verbose level 10).
 */
void coll_symm_report(coll_symm_call_t *call);

/* Logs on one rank what did not match; of an eager call, on each that found out. */
void coll_symm_report_mismatch(const coll_symm_call_t *call);

/* ---- coll_symm_stage.c: host copies of GPU buffers for the next component ---- */

/* A buffer for the next component: as the program gave it, or a host copy. */
typedef struct coll_symm_stage {
    char *first;  /* of the bytes that are staged, NULL when the buffer is used as it is */
    size_t len;   /* bytes */
    char *memory; /* the host copy of these, to free */
    void *host;   /* what to pass on */
} coll_symm_stage_t;

typedef struct coll_symm_stages {
    coll_symm_stage_t send, recv;
} coll_symm_stages_t;

/* Copies this rank's GPU buffers to the host; copies the output back; frees the copies. The first
 * two return an MPI error class, with the cause logged. */
int coll_symm_stages_in(coll_symm_stages_t *stages, const coll_symm_call_t *call);
int coll_symm_stages_out(const coll_symm_stages_t *stages);

/* Makes the copies once more, as the buffers are now. Returns an MPI error class, likewise. */
int coll_symm_stages_renew(const coll_symm_stages_t *stages);
void coll_symm_stages_free(coll_symm_stages_t *stages);

/* The next component's work, on host copies where this rank's buffers are on a GPU; agreed tells
 * whether this call was agreed on, so that a rank without memory for these does not stay away while
 * the others wait there. Returns an MPI error class. */
int coll_symm_pass_on(coll_symm_call_t *call, bool agreed);

/* ---- coll_symm_pending.c: nonblocking calls ---- */

/* Most bytes of a collective's arguments. */
#define COLL_SYMM_ARGUMENTS_MAX 96

/* Makes and starts a nonblocking call, with a copy of its arguments [len]: goes as far as it can
 * without waiting; MPI progress does the rest. *request_p owns the call. Returns an MPI error
 * class, and then there is no request. */
int coll_symm_pending_run(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                          const void *arguments, size_t len, const void *sbuf, void *rbuf,
                          ompi_request_t **request_p);

/* Notes that the call's work is on mapping's queue. */
void coll_symm_pending_note(coll_symm_pending_t *pending, symm_mapping_t *mapping);

/* ---- coll_symm_persistent.c: persistent calls ---- */

/* Makes a persistent request, with a copy of the call's arguments [len]: the next component's where
 * no window matters, and where that does all the work. Waits for all ranks, driving progress.
 * Returns an MPI error class, alike on all ranks unless the next component's, and then there is no
 * request. */
int coll_symm_persistent_run(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                             const void *arguments, size_t len, const void *sbuf, void *rbuf,
                             ompi_info_t *info, ompi_request_t **request_p);

/* Ends what the module's persistent requests hold; the program still has them to free. */
void coll_symm_persistent_detach(mca_coll_symm_module_t *module);

/* ---- coll_symm_rounds.c: a persistent call's work, made ready ---- */

typedef struct coll_symm_round coll_symm_round_t;

/* All rounds, with a queue of their own so as to wait for no others' work. Zero is none. */
typedef struct coll_symm_rounds {
    const symm_device_ops_t *ops;
    symm_queue_t *queue;
    coll_symm_round_t *all; /* [count] */
    uint64_t count;
} coll_symm_rounds_t;

/* Makes the scratch that the call's plan needs, of its own, or chooses again without: on all ranks
 * alike. Collective. */
void coll_symm_rounds_provide_scratch(coll_symm_call_t *call);

/* Makes the work of call's plan ready. Returns MPI_SUCCESS, or an MPI error class with the error
 * recorded; then, too, it wants freeing. */
int coll_symm_rounds_prepare(coll_symm_rounds_t *rounds, coll_symm_call_t *call,
                             symm_error_t *error);

/* Starts a round, all before being done; looks whether it is done, also after a failure. Return an
 * MPI error class. */
int coll_symm_rounds_replay(coll_symm_rounds_t *rounds, uint64_t round);
int coll_symm_rounds_test(coll_symm_rounds_t *rounds, bool *done_p);

/* Ends what was made ready, waiting for what is under way. There are none then. */
void coll_symm_rounds_free(coll_symm_rounds_t *rounds);

/* ---- coll_symm_progress.c: what MPI progress carries on ---- */

/* How far a call under way is. */
typedef enum coll_symm_phase {
    COLL_SYMM_PHASE_WAITING, /* for its place, until others have left what had it before */
    COLL_SYMM_PHASE_SHOWN,   /* to the others; waits for theirs */
    COLL_SYMM_PHASE_BEGIN,   /* all have come */
    COLL_SYMM_PHASE_SCRATCH, /* waits for those before it that work through scratch */
    COLL_SYMM_PHASE_RUNNING, /* a round of its work is on the device, if at all */
    COLL_SYMM_PHASE_STEP,    /* done with a round; waits for the others */
    COLL_SYMM_PHASE_LEFT,    /* done here; waits for the others */
    COLL_SYMM_PHASE_TURN,    /* to be passed on; waits for those before it and the others' copies */
    COLL_SYMM_PHASE_PASSED,  /* to the next component; waits for it */
    COLL_SYMM_PHASE_DONE,
} coll_symm_phase_t;

/* A call under way, inside what has the rest of it. */
typedef struct coll_symm_active coll_symm_active_t;
struct coll_symm_active {
    coll_symm_active_t *next;
    coll_symm_call_t *call;
    ompi_request_t *request; /* complete when the call is done */
    coll_symm_phase_t phase;
    coll_symm_wait_t wait; /* for the others, in the present phase */
    int rc;                /* what came of the call, so far */
    /* The phase that follows, or the same when there is something to wait for. */
    coll_symm_phase_t (*next_phase)(coll_symm_active_t *active);
    /* What the phase waits for the other ranks to do, NULL when it does not. */
    coll_symm_has_come_fn_t *(*awaited_in)(coll_symm_phase_t phase);
};

/* Puts a call behind those under way, with a reference of its communicator, and takes all as far as
 * they go. linger: stays a few
 * microseconds for ranks that come about now, so that work on a GPU is under way on return. */
void coll_symm_progress_add(coll_symm_active_t *active, bool linger);

/* Ends what this file keeps for the process. */
void coll_symm_progress_finalize(void);

#endif
