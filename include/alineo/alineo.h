/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALINEO_ALINEO_H
#define ALINEO_ALINEO_H

/**
 * alineo: run commands in sandboxes whose provider is chosen by a config, with every event in a
 * durable ledger. This header brings in all that a host program needs. Writers of plugins include
 * provider.h, storage.h or credentials.h alone.
 */

#include <alineo/background.h>
#include <alineo/base.h>
#include <alineo/call.h>
#include <alineo/capability.h>
#include <alineo/client.h>
#include <alineo/code.h>
#include <alineo/config.h>
#include <alineo/endpoint.h>
#include <alineo/error.h>
#include <alineo/exec.h>
#include <alineo/file.h>
#include <alineo/hooks.h>
#include <alineo/ledger.h>
#include <alineo/observe.h>
#include <alineo/sandbox.h>

#endif
