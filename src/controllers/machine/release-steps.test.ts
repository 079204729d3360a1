import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aMachine, anInstance } from '../../../test/support/fixtures/builders.ts';
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

const planes = [0, 1, 2].map((slot) => aMachine(slot));
const [going] = planes as [Machine, ...Machine[]];
const platform = { release: [{ name: 'gone' }] } as unknown as Platform;

type State = 'well' | 'ill' | 'silent' | 'learner' | 'none';

interface Told {
  readonly cluster?: Cluster | undefined;
  /** Of the members, by slot. `none`: there is no Machine either. */
  readonly states?: readonly State[];
  /** Slots that etcd does not list. */
  readonly unlisted?: readonly number[];
  readonly bootstrapped?: boolean;
  /** The bootstrap was called, and nobody has seen members since. */
  readonly called?: boolean;
  readonly joined?: boolean;
  /** It ran from its installed system; default: as `joined`. */
  readonly ran?: boolean;
  /** The Secret with the secrets of the cluster, or another one. */
  readonly secret?: 'missing' | 'of another cluster';
  readonly mend?: string;
}

async function release(told: Told) {
  const { states = ['well', 'well', 'well'], unlisted = [], bootstrapped = true, joined = true } = told;
  const recorded = told.secret === 'of another cluster' ? { talosCa: 'f'.repeat(64) } : undefined;
  const providerStatus = recorded && { [clusterRecordKey]: recorded };
  const known: Cluster = {
    ...aCluster(),
    ...(providerStatus && { status: { observedGeneration: 1, phase: '', providerStatus } }),
  };
  const cluster = 'cluster' in told ? told.cluster : known;
  const [calls, events]: [string[], string[]] = [[], []];
  const present = planes.filter((_, slot) => states[slot] !== 'none');
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
    ...(told.called ? { [annotations.bootstrapMachine]: going.metadata.name } : {}),
    ...(bootstrapped ? { [annotations.bootstrappedAt]: '2026-11-21T09:00:00Z' } : {}),
  };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', annotations: notes }, data };
  const services = {
    ...anInstance,
    kube: {
      find: async ({ kind }: { kind: string }) =>
        kind !== 'Secret' ? cluster : told.secret === 'missing' ? undefined : secret,
    },
    events: { record: (_: unknown, __: unknown, reason: string) => events.push(reason) },
    stores: {
      clusters: { get: () => cluster },
      machines: { by: () => present },
    },
  } as unknown as Services;
  const { ran = joined } = told;
  const machine: Machine = {
    ...going,
    metadata: { ...going.metadata, ...(told.mend ? { annotations: { [annotations.mend]: told.mend } } : {}) },
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
  const [step] = releaseStepsOf(services, machine, platform);
  const outcome = step?.name === 'etcd-left' ? await step.run(context) : { kind: 'none' };
  return { outcome, calls, events };
}

describe('a control plane that is taken down alone', () => {
  it.each<[string, Told, readonly string[]]>([
    ['leaves by itself', {}, ['0 leaves']],
    ['is removed by another when it does not answer', { states: ['silent', 'well', 'well'] }, ['1 removes a0']],
    [
      'leaves while it does not vote yet, whatever the others do',
      { states: ['learner', 'well', 'silent'] },
      ['0 leaves'],
    ],
    ['leaves one other alone', { states: ['well', 'well', 'none'] }, ['0 leaves']],
  ])('%s', async (_, told, calls) => {
    const done = await release(told);
    expect(done.calls).toEqual(calls);
    expect(done.outcome, 'looks again').toMatchObject({ kind: 'wait', seconds: 1 });
  });

  it.each<[string, Told]>([
    ['etcd does not list it any more', { states: ['silent', 'well', 'well'], unlisted: [0] }],
    ['etcd was never begun', { bootstrapped: false, joined: false, ran: true }],
    ['it never ran and nobody answers', { states: ['silent', 'silent', 'silent'], joined: false }],
    ['its Cluster is gone', { cluster: undefined }],
  ])('goes at once when %s', async (_, told) => {
    expect(await release(told)).toMatchObject({ outcome: { kind: 'done' }, calls: [], events: [] });
  });

  it.each<[string, Told, string, string]>([
    ['another is ill', { states: ['well', 'well', 'ill'] }, 'wait', 'EtcdAtRisk'],
    ['another does not answer', { states: ['silent', 'well', 'silent'] }, 'wait', 'EtcdAtRisk'],
    ['nobody answers', { states: ['silent', 'silent', 'silent'] }, 'wait', 'EtcdSilent'],
    [
      'nobody answers, though it never joined Kubernetes: it may be the one with all data',
      { states: ['silent', 'silent', 'silent'], joined: false, ran: true },
      'wait',
      'EtcdSilent',
    ],
    [
      'it is the only one, silent, and never joined Kubernetes',
      { states: ['silent', 'none', 'none'], joined: false, ran: true },
      'fail',
      'LastControlPlane',
    ],
    [
      'the bootstrap was called on it and nobody answers',
      { states: ['silent', 'silent', 'silent'], bootstrapped: false, called: true, joined: false, ran: true },
      'wait',
      'EtcdSilent',
    ],
    ['the secrets of its cluster are gone', { secret: 'missing' }, 'wait', 'SecretsMissing'],
    ['there are others in place of its secrets', { secret: 'of another cluster' }, 'wait', 'SecretsDiffer'],
    ['it is the only member', { unlisted: [1, 2] }, 'fail', 'LastControlPlane'],
    ['the others do not vote yet', { states: ['well', 'learner', 'learner'] }, 'fail', 'LastControlPlane'],
    ['there is no other and it is silent', { states: ['silent', 'none', 'none'] }, 'fail', 'LastControlPlane'],
    [
      'its Cluster waits for others, and is served meanwhile',
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
  ])('stays when %s, until a person agrees', async (_, told, kind, reason) => {
    const waits = await release(told);
    expect(waits).toMatchObject({ outcome: { kind, reason }, calls: [] });
    expect(waits.outcome).toMatchObject({ message: expect.stringContaining(`${annotations.mend}: ${reason}`) });
    expect((await release({ ...told, mend: 'Other' })).outcome.kind, 'another word').toBe(kind);
    expect(await release({ ...told, mend: reason })).toMatchObject({
      ...{ outcome: { kind: 'done' }, calls: [], events: ['TakenDownAsAgreed'] },
    });
  });
});

describe('what goes with its Cluster, or is no control plane', () => {
  const gone = aCluster(
    {},
    { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: [instanceFinalizers(anInstance).cluster] },
  );

  it('has nothing to leave', async () => {
    expect((await release({ cluster: gone })).outcome.kind).toBe('none');
    const services = { ...anInstance, stores: { clusters: { get: () => aCluster() } } } as unknown as Services;
    expect(releaseStepsOf(services, aMachine(0, [], 'work'), platform)).toBe(platform.release);
  });
});
