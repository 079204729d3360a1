import { describeDhcpReservation } from '../engine/dhcp-reservation.ts';
import {
  done,
  type Facts,
  fail,
  type Step,
  type StepContext,
  type StepOutcome,
  wait,
  waitWithReason,
} from '../engine/platform.ts';
import { ProviderError } from '../lib/errors.ts';
import type { TalosClient } from './client/client.ts';
import type { TalosCallOptions } from './client/connection.ts';
import { redact } from './client/errors.ts';
import type { NodeMachineStatus } from './client/node-calls.ts';
import { resourceKinds } from './client/resources.ts';

/** What the steps below need beside the platform's own context. */
export interface TalosStepContext extends StepContext {
  /** A client of the node at an address, with the credentials of its cluster. The caller closes it. */
  openTalos(address: string): TalosClient;
}

/** How often a node on its way is asked: it costs it one handshake, and people watch. */
const pollSeconds = 3;

/**
 * From a machine that boots Talos with its configuration to a ready member of the cluster, on every platform: they
 * follow the platform's own steps, which leave the fact `address`. All of them only look.
 *
 * A worker answers only when a control plane signed its certificate, and no control plane gets beyond `await-member`
 * before etcd was bootstrapped, which is the business of the cluster.
 */
export const joinSteps: readonly Step<TalosStepContext>[] = [
  {
    /** Done when the node answers a call over mTLS: it has our configuration and runs Talos. */
    name: 'await-talos-api',
    deadlineMinutes: 20,
    run: (context) =>
      callNode(context, async (client, options) => {
        await client.version(options);
        return done();
      }),
  },
  {
    /**
     * Done when the node runs from its disk. While it installs itself it answers for about a minute, goes away for
     * one or two, and comes back. Its system disk exists from the moment when the installation is complete.
     */
    name: 'await-installation',
    deadlineMinutes: 30,
    run: (context) =>
      callNode(context, async (client, options) => {
        const status = await client.machineStatus(options);
        if (status.stage !== 'booting' && status.stage !== 'running')
          return wait(pollSeconds, describeNodeStatus(status));
        const disk = await client.findResource(resourceKinds.systemDisk, 'system-disk', options);
        return disk ? done() : wait(pollSeconds, 'Talos runs from its boot image and has not installed itself yet.');
      }),
  },
  {
    /** Done when the node is running and ready, which only holds for a ready member of Kubernetes. */
    name: 'await-member',
    deadlineMinutes: 30,
    run: (context) =>
      callNode(context, async (client, options) => {
        const status = await client.machineStatus(options);
        return isClusterMember(status) ? done({ joined: true }) : wait(pollSeconds, describeNodeStatus(status));
      }),
  },
];

/** `ready` alone is true in maintenance mode, and while the node installs or reboots. */
export const isClusterMember = (status: NodeMachineStatus): boolean => status.stage === 'running' && status.ready;

/** What a node is doing and what it still lacks, as a sentence for people. */
export function describeNodeStatus({ stage, ready, unmetConditions }: NodeMachineStatus): string {
  const doing =
    stage === 'unknown'
      ? 'has only just started'
      : stage === 'maintenance'
        ? 'waits for a configuration'
        : `is ${stage}`;
  if (unmetConditions.length === 0) return `The node ${doing}${stage === 'running' && !ready ? ' and not ready' : ''}.`;
  const lacks = unmetConditions.map(({ name, reason }) => (reason === '' ? name : `${name} (${redact(reason)})`));
  return `The node ${doing} and lacks: ${lacks.join(', ')}.`;
}

/**
 * Takes a control plane out of etcd, so that its machine may go. Returns false when there is nothing to do: it is no
 * member, or the only one, which cannot leave. Its Kubernetes Node object stays; Talos never removes it.
 */
export async function leaveEtcd(client: TalosClient, options: TalosCallOptions = {}): Promise<boolean> {
  const members = await client.etcdMembers(options);
  const { memberId } = await client.etcdStatus(options);
  if (members.length < 2 || !members.some((member) => member.id === memberId)) return false;
  await client.forfeitLeadership(options);
  await client.leaveEtcd(options);
  return true;
}

/** A node that is told its address may be at another one, and only people can see to that. */
function waitForNode(facts: Facts, silence: string): StepOutcome {
  const reservation = describeDhcpReservation(facts);
  if (reservation === undefined) return wait(pollSeconds, silence);
  return waitWithReason('NotAtReservedAddress', pollSeconds, `${silence} ${reservation}`);
}

/** One look at the node. One that is silent or not ours yet is not a failure: it may be on its way. */
async function callNode(
  context: TalosStepContext,
  look: (client: TalosClient, options: TalosCallOptions) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  const { address } = context.facts;
  if (typeof address !== 'string' || address === '') {
    return fail('AddressUnknown', 'The platform did not say which address the machine has.');
  }
  const client = context.openTalos(address);
  try {
    return await look(client, { signal: context.signal });
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (error.code === 'TALOS_UNREACHABLE') return waitForNode(context.facts, error.message);
    if (error.code === 'TALOS_NOT_READY') return wait(pollSeconds, error.message);
    if (error.code === 'TALOS_FOREIGN_NODE') return wait(15, error.message);
    throw error;
  } finally {
    await client.close();
  }
}
