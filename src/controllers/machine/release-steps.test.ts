import { describe, expect, it } from 'vitest';
import {
  aCluster,
  aCondition,
  aMachine,
  anInstance,
  aProviderConfig,
  aSpec,
} from '../../../test/support/fixtures/builders.ts';
import { clusterIdentityAnnotations } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations, instanceFinalizers } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { Platform } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import type { TalosStepContext } from '../../talos/join-steps.ts';
import { clusterRecordKey } from '../shared/secrets/cluster-record.ts';
import { secretsBundleKey } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import { releaseStepsOf } from './release-steps.ts';

const bundle = await import('../../talos/secrets/secrets-bundle.ts').then(({ createSecretsBundle }) =>
  createSecretsBundle({ now: new Date('2026-11-21T09:00:00Z') }),
);
const { formatSecretsBundle } = await import('../../talos/secrets/secrets-bundle-file.ts');

const controlPlanes = [0, 1, 2].map((slot) => aMachine(slot));
const [going] = controlPlanes as [Machine, ...Machine[]];
const platform = { release: [{ name: 'gone' }] } as unknown as Platform;

type State = 'well' | 'ill' | 'silent' | 'learner' | 'none';

interface Told {
  readonly cluster?: Cluster | undefined;
  /** The members by slot. `none`: the Machine does not exist either. */
  readonly states?: readonly State[];
  /** Slots that etcd does not list. */
  readonly unlisted?: readonly number[];
  readonly bootstrapped?: boolean;
  /** The bootstrap was called, and no members were observed since. */
  readonly called?: boolean;
  readonly joined?: boolean;
  /** Whether it ran its installed system; default: `joined`. */
  readonly ran?: boolean;
  /** The Secret of the cluster is missing or another one. */
  readonly secret?: 'missing' | 'of another cluster';
  readonly mend?: string;
  /** The number of control planes that the cluster is to have. */
  readonly desired?: number;
}

const withReplicas = (replicas: number) => ({ ...aSpec(), controlPlane: { ...aSpec().controlPlane, replicas } });

async function release(reported: Told) {
  const { states = ['well', 'well', 'well'], unlisted = [], bootstrapped = true, joined = true } = reported;
  const recorded = reported.secret === 'of another cluster' ? { talosCa: 'f'.repeat(64) } : undefined;
  const providerStatus = recorded && { [clusterRecordKey]: recorded };
  const known: Cluster = {
    ...aCluster(),
    ...(providerStatus && { status: { observedGeneration: 1, phase: '', providerStatus } }),
  };
  const cluster = 'cluster' in reported ? reported.cluster : known;
  const [calls, events]: [string[], string[]] = [[], []];
  const present = controlPlanes.filter((_, slot) => states[slot] !== 'none');
  const members = present
    .map((machine) => ({ slot: machine.spec.slot, name: machine.metadata.name }))
    .filter(({ slot }) => !unlisted.includes(slot))
    .map(({ slot, name }) => ({ id: `a${slot}`, name, peerUrls: [], learner: states[slot] === 'learner' }));
  const client = (slot: number) => {
    const answers = <T>(value: T) => {
      if (states[slot] === 'silent') throw new ProviderError('TALOS_UNREACHABLE');
      return value;
    };
    return {
      etcdMembers: async () => answers(members),
      etcdStatus: async () =>
        answers({ memberId: `a${slot}`, leaderId: 'a1', errors: states[slot] === 'ill' ? ['x'] : [] }),
      forfeitLeadership: async () => undefined,
      leaveEtcd: async () => void calls.push(`${slot} leaves`),
      removeEtcdMember: async (id: string) => void calls.push(`${slot} removes ${id}`),
      close: async () => undefined,
    } as unknown as TalosClient;
  };
  const data = { [secretsBundleKey]: Buffer.from(formatSecretsBundle(bundle).reveal()).toString('base64') };
  const notes = {
    ...clusterIdentityAnnotations(going.spec.clusterRef),
    ...(reported.called ? { [annotations.bootstrapMachine]: going.metadata.name } : {}),
    ...(bootstrapped ? { [annotations.bootstrappedAt]: '2026-11-21T09:00:00Z' } : {}),
  };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', annotations: notes }, data };
  const services = {
    ...anInstance,
    kube: {
      find: async ({ kind }: { kind: string }) =>
        kind !== 'Secret' ? cluster : reported.secret === 'missing' ? undefined : secret,
    },
    clock: { now: () => new Date('2026-11-21T09:00:00Z') },
    events: { record: (_: unknown, __: unknown, reason: string) => events.push(reason) },
    stores: {
      clusters: { get: () => cluster },
      machines: { by: () => present },
      providerConfigs: { list: () => (reported.desired ? [aProviderConfig(withReplicas(reported.desired))] : []) },
    },
    connections: { get: (_: string, open: () => unknown) => open() },
  } as unknown as Services;
  const { ran = joined } = reported;
  const machine: Machine = {
    ...going,
    metadata: {
      ...going.metadata,
      ...(reported.mend ? { annotations: { [annotations.approve]: reported.mend } } : {}),
    },
    status: {
      ...(going.status ?? { observedGeneration: 1, phase: '', conditions: [] }),
      conditions: [aCondition('Joined', joined ? 'True' : ran ? 'False' : 'Unknown')],
    },
  };
  const context = {
    facts: { joined },
    signal: new AbortController().signal,
    openTalos: (address: string) => client(Number(address.split('.')[3]) - 21),
  } as unknown as TalosStepContext;
  const step = releaseStepsOf(services, machine, platform).find(({ name }) => name === 'etcd-left');
  const outcome = step ? await step.run(context) : { kind: 'none' };
  return { outcome, calls, events };
}

describe('the release of a single control plane', () => {
  it.each<[string, Told, readonly string[]]>([
    ['lets its node leave by itself', {}, ['0 leaves']],
    ['removes it through another one if it does not answer', { states: ['silent', 'well', 'well'] }, ['1 removes a0']],
    ['lets a learner leave, whatever the state of the others', { states: ['learner', 'well', 'silent'] }, ['0 leaves']],
    ['leaves a cluster that is to be smaller', { states: ['well', 'well', 'none'], desired: 1 }, ['0 leaves']],
    ['also works with one other control plane', { states: ['well', 'well', 'none'] }, ['0 leaves']],
  ])('%s', async (_, reported, calls) => {
    const done = await release(reported);
    expect(done.calls).toEqual(calls);
    expect(done.outcome, 'looks again').toMatchObject({ kind: 'wait', seconds: 1 });
  });

  it.each<[string, Told]>([
    ['etcd does not list it any more', { states: ['silent', 'well', 'well'], unlisted: [0] }],
    ['etcd was never bootstrapped', { bootstrapped: false, joined: false, ran: true }],
    ['it never ran and no node answers', { states: ['silent', 'silent', 'silent'], joined: false }],
    ['its Cluster is gone', { cluster: undefined }],
  ])('continues at once if %s', async (_, reported) => {
    expect(await release(reported)).toMatchObject({ outcome: { kind: 'done' }, calls: [], events: [] });
  });

  it.each<[string, Told, string, string]>([
    ['another one is unhealthy', { states: ['well', 'well', 'ill'] }, 'wait', 'EtcdAtRisk'],
    ['another does not answer', { states: ['silent', 'well', 'silent'] }, 'wait', 'EtcdAtRisk'],
    ['no node answers', { states: ['silent', 'silent', 'silent'] }, 'wait', 'EtcdSilent'],
    [
      'no node answers, though it never joined Kubernetes: it may be the only one with data',
      { states: ['silent', 'silent', 'silent'], joined: false, ran: true },
      'wait',
      'EtcdSilent',
    ],
    [
      'it is the only one, does not answer, and never joined Kubernetes',
      { states: ['silent', 'none', 'none'], joined: false, ran: true },
      'fail',
      'LastControlPlane',
    ],
    [
      'the bootstrap was called on it and no node answers',
      { states: ['silent', 'silent', 'silent'], bootstrapped: false, called: true, joined: false, ran: true },
      'wait',
      'EtcdSilent',
    ],
    ['the secrets of its cluster are gone', { secret: 'missing' }, 'wait', 'SecretsMissing'],
    ['its Secret has other secrets', { secret: 'of another cluster' }, 'wait', 'SecretsDiffer'],
    ['it is the only member', { unlisted: [1, 2] }, 'fail', 'LastControlPlane'],
    [
      'D35: another control plane was deleted at the same time and is not replaced yet',
      { states: ['well', 'well', 'none'], desired: 3 },
      'wait',
      'EtcdAtRisk',
    ],
    [
      'D35: the successor of another control plane does not vote yet',
      { states: ['well', 'well', 'learner'], desired: 3 },
      'wait',
      'EtcdAtRisk',
    ],
    ['the others do not vote yet', { states: ['well', 'learner', 'learner'] }, 'fail', 'LastControlPlane'],
    [
      'there is no other one and it does not answer',
      { states: ['silent', 'none', 'none'] },
      'fail',
      'LastControlPlane',
    ],
    [
      'its Cluster is in deletion, but waits for other finalizers',
      {
        cluster: aCluster(
          {},
          { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: [instanceFinalizers(anInstance).cluster, 'others'] },
        ),
        unlisted: [1, 2],
      },
      'fail',
      'LastControlPlane',
    ],
  ])('waits if %s, until the user approves', async (_, reported, kind, reason) => {
    const waits = await release(reported);
    expect(waits).toMatchObject({ outcome: { kind, reason }, calls: [] });
    expect(waits.outcome).toMatchObject({ message: expect.stringContaining(`${annotations.approve}: ${reason}`) });
    expect((await release({ ...reported, mend: 'Other' })).outcome.kind, 'another word').toBe(kind);
    expect(await release({ ...reported, mend: reason })).toMatchObject({
      ...{ outcome: { kind: 'done' }, calls: [], events: ['TakenDownAsAgreed'] },
    });
  });
});

describe('a Machine of a Cluster in deletion, or a worker', () => {
  const gone = aCluster(
    {},
    { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: [instanceFinalizers(anInstance).cluster] },
  );

  it('has no step for etcd', async () => {
    expect((await release({ cluster: gone })).outcome.kind).toBe('none');
    const services = { ...anInstance, stores: { clusters: { get: () => aCluster() } } } as unknown as Services;
    const steps = releaseStepsOf(services, aMachine(0, [], 'work'), platform);
    expect(steps.map(({ name }) => name)).toEqual(['node-drained', 'gone', 'node-deleted']);
  });
});
