import { describe, expect, it } from 'vitest';
import { aCluster, aMachine } from '../../../test/support/builders.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations, finalizers } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp.ts';
import type { Platform } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/api.ts';
import type { TalosStepContext } from '../../talos/steps.ts';
import { bundleKey } from '../cluster-secrets.ts';
import type { Services } from '../services.ts';
import { releaseOf } from './leave-etcd.ts';

const bundle = await import('../../talos/secrets.ts').then(({ createSecretsBundle }) =>
  createSecretsBundle({ now: new Date('2026-11-21T09:00:00Z') }),
);
const { formatSecretsBundle } = await import('../../talos/secrets-file.ts');

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
  readonly joined?: boolean;
  readonly mend?: string;
}

async function release(told: Told) {
  const { states = ['well', 'well', 'well'], unlisted = [], bootstrapped = true, joined = true } = told;
  const cluster = 'cluster' in told ? told.cluster : aCluster();
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
  const notes = bootstrapped ? { [annotations.bootstrappedAt]: '2026-11-21T09:00:00Z' } : {};
  const data = { [bundleKey]: Buffer.from(formatSecretsBundle(bundle).reveal()).toString('base64') };
  const services = {
    namespace: 'openmcp-system',
    kube: { find: async () => cluster },
    events: { record: (_: unknown, __: unknown, reason: string) => events.push(reason) },
    stores: {
      clusters: { get: () => cluster },
      machines: { by: () => present },
      secrets: { get: () => ({ metadata: { name: 'x', annotations: notes }, data }) },
    },
  } as unknown as Services;
  const machine: Machine = told.mend
    ? { ...going, metadata: { ...going.metadata, annotations: { [annotations.mend]: told.mend } } }
    : going;
  const context = {
    facts: { joined },
    signal: new AbortController().signal,
    openTalos: (address: string) => client(Number(address.split('.')[3]) - 21),
  } as unknown as TalosStepContext;
  const [step] = releaseOf(services, machine, platform);
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
    ['etcd was never begun', { bootstrapped: false }],
    ['it never became a member and nobody answers', { states: ['silent', 'silent', 'silent'], joined: false }],
    ['its Cluster is gone', { cluster: undefined }],
  ])('goes at once when %s', async (_, told) => {
    expect(await release(told)).toMatchObject({ outcome: { kind: 'done' }, calls: [], events: [] });
  });

  it.each<[string, Told, string, string]>([
    ['another is ill', { states: ['well', 'well', 'ill'] }, 'wait', 'EtcdAtRisk'],
    ['another does not answer', { states: ['silent', 'well', 'silent'] }, 'wait', 'EtcdAtRisk'],
    ['nobody answers', { states: ['silent', 'silent', 'silent'] }, 'wait', 'EtcdSilent'],
    ['it is the only member', { unlisted: [1, 2] }, 'fail', 'LastControlPlane'],
    ['the others do not vote yet', { states: ['well', 'learner', 'learner'] }, 'fail', 'LastControlPlane'],
    ['there is no other and it is silent', { states: ['silent', 'none', 'none'] }, 'fail', 'LastControlPlane'],
    [
      'its Cluster waits for others, and is served meanwhile',
      {
        cluster: aCluster(
          {},
          { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: [finalizers.cluster, 'others'] },
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
  const gone = aCluster({}, { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: [finalizers.cluster] });

  it('has nothing to leave', async () => {
    expect((await release({ cluster: gone })).outcome.kind).toBe('none');
    const services = { stores: { clusters: { get: () => aCluster() } } } as unknown as Services;
    expect(releaseOf(services, aMachine(0, [], 'work'), platform)).toBe(platform.release);
  });
});
