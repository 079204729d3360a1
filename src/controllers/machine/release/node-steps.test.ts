import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aMachine, anInstance } from '../../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { clusterIdentityAnnotations } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations, instanceFinalizers } from '../../../api/names.ts';
import { type Cluster, endpointNames } from '../../../api/openmcp/types.ts';
import type { Facts, Step, StepOutcome } from '../../../engine/step.ts';
import { KubeError } from '../../../kube/errors.ts';
import type { TalosStepContext } from '../../../talos/join-steps.ts';
import { secretsBundleKey } from '../../shared/secrets/cluster-secrets.ts';
import type { Services } from '../../shared/services.ts';
import { deleteNodeStep, drainNodeStep } from './node-steps.ts';

const { createSecretsBundle } = await import('../../../talos/secrets/secrets-bundle.ts');
const { formatSecretsBundle } = await import('../../../talos/secrets/secrets-bundle-file.ts');
const bundle = await createSecretsBundle({ now: new Date('2026-11-21T09:00:00Z') });

const address = '192.168.10.31';
const worker = aMachine(0, [], 'work');
const name = worker.metadata.name;

interface Told {
  readonly cluster?: Cluster | undefined;
  readonly machine?: Machine;
  readonly joined?: 'True' | 'False' | 'Unknown';
  readonly ready?: string;
  readonly nodeAddress?: string;
  readonly uid?: string;
  readonly others?: number;
  readonly approve?: string;
  readonly facts?: Facts;
  /** Pods of the node, each with the answer to its eviction. */
  readonly pods?: readonly ('evicted' | 'blocked')[];
  readonly isSilent?: boolean;
  readonly hasNode?: boolean;
  readonly hasSecret?: boolean;
}

const serving = (): Cluster => ({
  ...aCluster(),
  status: {
    observedGeneration: 1,
    phase: 'Ready',
    endpoints: [{ name: endpointNames.external, url: 'https://192.168.10.20:6443' }],
  },
});

async function run(stepOf: (services: Services, machine: Machine) => Step<TalosStepContext>, told: Told = {}) {
  const calls: string[] = [];
  const events: string[] = [];
  const { ready = 'True', nodeAddress = address, uid = 'n1', others = 1, pods = [], hasNode = true } = told;
  const node = {
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name, uid, resourceVersion: '1' } },
    status: {
      addresses: [{ type: 'InternalIP', address: nodeAddress }],
      conditions: [{ type: 'Ready', status: ready }],
    },
  };
  const rows = [name, ...Array.from({ length: others }, (_, i) => `other-${i}`)].map((one) => ({
    metadata: { name: one },
  }));
  const podObjects = pods.map((_, i) => ({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: `p${i}`, namespace: 'shop' },
  }));
  const client = {
    find: async () => {
      if (told.isSilent) throw new KubeError({ status: 0, reason: 'Unreachable', message: 'connection refused' });
      return hasNode ? node : undefined;
    },
    list: async ({ kind }: { kind: string }) => ({ items: kind === 'Node' ? rows : kind === 'Pod' ? podObjects : [] }),
    merge: async () => {
      calls.push('cordon');
      return node;
    },
    raw: async (_: string, path: string) => {
      calls.push('evict');
      const index = Number(/p(\d)\/eviction/.exec(path)?.[1]);
      if (pods[index] === 'blocked')
        throw new KubeError({
          status: 429,
          reason: 'TooManyRequests',
          message: 'no',
          causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget web needs 1' }],
        });
    },
    remove: async (_: unknown, key: { name: string }, options: object) => {
      calls.push(`remove ${key.name} ${JSON.stringify(options)}`);
      return true;
    },
  };
  const cluster = 'cluster' in told ? told.cluster : serving();
  const given = told.machine ?? worker;
  const data = { [secretsBundleKey]: Buffer.from(formatSecretsBundle(bundle).reveal()).toString('base64') };
  const secretNotes = clusterIdentityAnnotations(given.spec.clusterRef);
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', annotations: secretNotes }, data };
  const services = {
    ...anInstance,
    clock: new ManualClock(),
    kube: {
      find: async ({ kind }: { kind: string }) =>
        kind === 'Cluster' ? cluster : told.hasSecret === false ? undefined : secret,
    },
    events: { record: (_: unknown, __: unknown, reason: string) => events.push(reason) },
    stores: { machines: { by: () => [given] }, providerConfigs: { list: () => [] }, clusters: { get: () => cluster } },
    targets: { client: async () => client },
  } as unknown as Services;
  const machine: Machine = {
    ...given,
    metadata: { ...given.metadata, ...(told.approve ? { annotations: { [annotations.approve]: told.approve } } : {}) },
    status: { observedGeneration: 1, phase: '', conditions: [aCondition('Joined', told.joined ?? 'True')] },
  };
  const facts = told.facts ?? { address };
  const context = { facts, signal: new AbortController().signal } as unknown as TalosStepContext;
  const outcome: StepOutcome = await stepOf(services, machine).run(context);
  return { outcome, calls, events };
}

describe('the step node-drained', () => {
  it('D1: cordons and evicts, and records the Node and the time of the beginning', async () => {
    const { outcome, calls } = await run(drainNodeStep, { pods: ['evicted'] });
    expect(calls).toEqual(['cordon', 'evict']);
    expect(outcome).toMatchObject({
      kind: 'wait',
      reason: 'Draining',
      facts: { nodeUid: 'n1', drainStarted: expect.any(String) },
    });
  });

  it('is done when no Pod has to leave', async () => {
    expect((await run(drainNodeStep)).outcome).toMatchObject({ kind: 'done', facts: { nodeUid: 'n1' } });
  });

  it('D6: keeps the time of the beginning', async () => {
    const facts = { address, drainStarted: '2026-11-21T08:00:00.000Z' };
    const { outcome } = await run(drainNodeStep, { facts, pods: ['blocked'] });
    expect(outcome).toMatchObject({ facts: { drainStarted: facts.drainStarted } });
  });

  it.each<[string, Told]>([
    ['its Cluster is gone', { cluster: undefined }],
    [
      'its Cluster is in deletion',
      {
        cluster: aCluster(
          {},
          { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: [instanceFinalizers(anInstance).cluster] },
        ),
      },
    ],
    ['its Cluster never had an endpoint', { cluster: aCluster() }],
    ['it never ran its installed system', { joined: 'Unknown', isSilent: true }],
    ['it is the only control plane', { machine: aMachine(0) }],
    ['it has no Node', { hasNode: false }],
    ['D37: the Node of its name is that of another machine', { nodeAddress: '192.168.10.99' }],
    ['D37: the Node was replaced since it was recognised', { facts: { address, nodeUid: 'n0' } }],
    ['it is the last node', { others: 0 }],
  ])('does nothing if %s', async (_, told) => {
    const { outcome, calls } = await run(drainNodeStep, { pods: ['evicted'], ...told });
    expect(outcome.kind).toBe('done');
    expect(calls).toEqual([]);
  });

  it('finds its Node by a private address, too', async () => {
    const facts = { address: '203.0.113.7', privateAddress: address };
    expect((await run(drainNodeStep, { facts, pods: ['evicted'] })).calls).toEqual(['cordon', 'evict']);
  });

  it.each<[string, Told, string]>([
    ['a budget forbids it', { pods: ['blocked'] }, 'DrainBlocked'],
    ['the API server does not answer', { isSilent: true }, 'ApiServerSilent'],
    ['the secrets of the cluster are gone', { hasSecret: false }, 'SecretsMissing'],
  ])('waits if %s, until the user approves', async (_, told, reason) => {
    const { outcome } = await run(drainNodeStep, told);
    expect(outcome).toMatchObject({
      kind: 'wait',
      reason,
      message: expect.stringContaining(`${annotations.approve}: ${reason}`),
    });
    expect((await run(drainNodeStep, { ...told, approve: 'Other' })).outcome.kind).toBe('wait');
    expect(await run(drainNodeStep, { ...told, approve: reason })).toMatchObject({
      ...{ outcome: { kind: 'done' }, events: ['TakenDownAsAgreed'] },
    });
  });

  it('takes the approval of one reason of the drain for the others', async () => {
    expect((await run(drainNodeStep, { pods: ['blocked'], approve: 'DrainTimedOut' })).outcome.kind).toBe('done');
    expect((await run(drainNodeStep, { isSilent: true, approve: 'DrainTimedOut' })).outcome.kind).toBe('wait');
  });
});

describe('the step node-deleted', () => {
  it('D10: deletes the Node with the recorded UID', async () => {
    const { outcome, calls } = await run(deleteNodeStep, { ready: 'Unknown', facts: { address, nodeUid: 'n1' } });
    expect(outcome.kind).toBe('done');
    expect(calls).toEqual([`remove ${name} {"uid":"n1"}`]);
  });

  it('D37: never deletes a Ready Node', async () => {
    const { outcome, calls } = await run(deleteNodeStep);
    expect(outcome).toMatchObject({ kind: 'wait', reason: 'NodeStillReady' });
    expect(calls).toEqual([]);
  });

  it.each<[string, Told]>([
    ['has another address', { nodeAddress: '192.168.10.99' }],
    ['is another one since', { facts: { address, nodeUid: 'n0' } }],
    ['does not exist', { hasNode: false }],
  ])('D37: leaves a Node of the name that %s', async (_, told) => {
    const { outcome, calls } = await run(deleteNodeStep, { ready: 'Unknown', ...told });
    expect([outcome.kind, calls]).toEqual(['done', []]);
  });
});
