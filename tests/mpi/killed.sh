#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# killed.sh PROGRAM...: run it and outlive it for a moment, whatever becomes of it. For launchers that end a job at once when a rank is
# killed: they see the shell.
"$@"
sleep 1
