import type { StepContext } from '../engine/contexts.ts';
import { describeDhcpReservation } from '../engine/dhcp-reservation.ts';
import { done, type Facts, fail, type Step, type StepOutcome, wait, waitWithReason } from '../engine/step.ts';
import { ProviderError } from '../lib/errors.ts';
import type { TalosClient } from './client/client.ts';
import type { TalosCallOptions } from './client/connection.ts';
import { redact } from './client/errors.ts';
import type { NodeMachineStatus } from './client/node-calls.ts';
import { readOwnConfiguration } from './client/own-configuration.ts';
import { resourceKinds } from './client/resources.ts';

/** The parts of the context that these steps need beside the platform's own context. */
export interface TalosStepContext extends StepContext {
  /** A client of the node at an address, with the credentials of its cluster. The caller closes it. */
  openTalos(address: string): TalosClient;
}

/** Poll interval of a joining node: a poll costs the node one handshake, and users watch the progress. */
const pollSeconds = 3;

/**
 * The steps from a machine that boots Talos with its configuration to a ready member of the cluster, on every platform.
 * They follow the platform's own steps, which set the fact `address`, and `providerId` if another machine could answer
 * there. All of them only observe.
 *
 * A worker answers only after a control plane has signed its certificate. No control plane gets beyond `await-member`
 * before etcd is bootstrapped, which the cluster controller does.
 */
export const joinSteps: readonly Step<TalosStepContext>[] = [
  {
    /** Done when the node answers a call over mTLS: it has its own configuration and runs Talos. */
    name: 'await-talos-api',
    deadlineMinutes: 20,
    run: (context) =>
      callNode(context, async (client, options) => {
        await client.version(options);
        const { providerId } = context.facts;
        if (typeof providerId === 'string') await readOwnConfiguration(client, { providerId }, options);
        return done();
      }),
  },
  {
    /**
     * Done when the node runs from its disk. During the installation it answers for about a minute, is unreachable for
     * one or two, and returns. Its system disk exists as soon as the installation is complete.
     */
    name: 'await-installation',
    deadlineMinutes: 30,
    run: (context) =>
      callNode(context, async (client, options) => {
        const status = await client.machineStatus(options);
        if (status.stage !== 'booting' && status.stage !== 'running')
          return wait(pollSeconds, describeNodeStatus(status));
        const disk = await client.findResource(resourceKinds.systemDisk, 'system-disk', options);
        return disk ? done() : wait(pollSeconds, 'Talos runs from its boot image and is not installed yet.');
      }),
  },
  {
    /** Done when the node is running and ready, which only a ready member of Kubernetes is. */
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

/** The stage of a node and its unmet conditions, as a sentence for users. */
export function describeNodeStatus({ stage, ready, unmetConditions }: NodeMachineStatus): string {
  const doing =
    stage === 'unknown' ? 'has just started' : stage === 'maintenance' ? 'waits for a configuration' : `is ${stage}`;
  if (unmetConditions.length === 0) return `The node ${doing}${stage === 'running' && !ready ? ' and not ready' : ''}.`;
  const unmet = unmetConditions.map(({ name, reason }) => (reason === '' ? name : `${name} (${redact(reason)})`));
  return `The node ${doing} with unmet conditions: ${unmet.join(', ')}.`;
}

/**
 * Removes a control plane from etcd, so that its machine can be released. Returns false when the node is not a member,
 * or is the only one, which cannot leave. Its Kubernetes Node object stays; Talos never removes it.
 */
export async function leaveEtcd(client: TalosClient, options: TalosCallOptions = {}): Promise<boolean> {
  const members = await client.etcdMembers(options);
  const { memberId } = await client.etcdStatus(options);
  if (members.length < 2 || !members.some((member) => member.id === memberId)) return false;
  await client.forfeitLeadership(options);
  await client.leaveEtcd(options);
  return true;
}

/** A node whose address a DHCP server assigns may have another one, which only a user can correct. */
function waitForNode(facts: Facts, message: string): StepOutcome {
  const reservation = describeDhcpReservation(facts);
  if (reservation === undefined) return wait(pollSeconds, message);
  return waitWithReason('NotAtReservedAddress', pollSeconds, `${message} ${reservation}`);
}

/** Calls the node once. A node that is silent or foreign is not a failure: it may still be booting. */
export async function callNode(
  context: TalosStepContext,
  check: (client: TalosClient, options: TalosCallOptions) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  const { address } = context.facts;
  if (typeof address !== 'string' || address === '') {
    return fail('AddressUnknown', 'The platform did not report an address of the machine.');
  }
  const client = context.openTalos(address);
  try {
    return await check(client, { signal: context.signal });
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
