/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * System calls that fail because a test says so, by rules as in fault_rules.h: linked into the test
 * program, whose functions come before the C library's. Only calls that the product's libraries
 * make are counted. Actions:
 *
 *     ERRNO          the call does nothing and fails; munmap does its work first, and recvmsg loses
 *                    the message that it has received; allocations fail whatever the number
 *     lost           sendmsg: the message is not sent, though it seems so
 *     twice          sendmsg: the message is sent twice
 *     short          sendmsg: the last four bytes are missing
 *     token, rank    sendmsg: the token is another; the sender's rank is the next one
 *     bare           sendmsg: without its descriptors. recvmsg: they are cut off, as for want of
 * room stranger       recvmsg: the sender is another user delay:MS, kill */
#ifndef FAULT_CALLS_H
#define FAULT_CALLS_H

/* As fake_cuda_arm and so on, see fake_inject.h. Arming looks up where the product's libraries are.
 */
int fault_calls_arm(const char *rules);
const char *fault_calls_fired(void);
void fault_calls_hold(int on);

#endif
