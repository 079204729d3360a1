import { describe, expect, it } from 'vitest';
import { aCluster, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations, openmcpKeys } from '../../api/names.ts';
import { KubeError } from '../../kube/errors.ts';
import type { Services } from '../shared/services.ts';
import { deleteMachine, reconcileMachineMetadata } from './machine-metadata.ts';
import type { ClusterView } from './view.ts';

const mark = annotations.onlyControlPlane;
const cached = `${openmcpKeys.metadataPrefix}team`;
const started = { bootstrapMachine: 'cp-0' };
const { signal } = new AbortController();

const marked = (machine: Machine): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, annotations: { ...machine.metadata.annotations, [mark]: 'true' } },
});
const leaving = (machine: Machine): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

/** The changes by Machine, in the order of the calls. */
async function changes(machines: readonly Machine[], secrets: unknown, cluster = aCluster()): Promise<unknown[]> {
  const patches: unknown[] = [];
  const merge = async (_: unknown, { name }: { name: string }, { metadata }: { metadata: unknown }) =>
    void patches.push([name, metadata]);
  const view = { cluster, machines, secrets } as unknown as ClusterView;
  await reconcileMachineMetadata({ kube: { merge } } as unknown as Services, view, signal);
  return patches;
}

const worker = aMachine(0, [], 'general');
const [first, second] = [aMachine(0), aMachine(1)] as [Machine, Machine];
const put = (machine: Machine) => [machine.metadata.name, { annotations: { [mark]: 'true' } }];
const takeOff = (machine: Machine) => [machine.metadata.name, { annotations: { [mark]: null } }];

describe('the mark of an only control plane', () => {
  it.each([
    ['is set on it, and not on workers', [first, worker], [put(first)]],
    ['stays', [marked(first), worker], []],
    ['is set on the one without deletion', [leaving(first), second], [put(second)]],
    ['is not set on one of two', [first, second], []],
    ['is removed when there is another one', [marked(first), second], [takeOff(first)]],
    ['is removed from one in deletion', [leaving(marked(first)), second], [takeOff(first), put(second)]],
  ])('%s', async (_, machines, expected) => {
    expect(await changes(machines, started)).toEqual(expected);
  });

  it('is not set before the bootstrap of the cluster', async () => {
    expect(await changes([first, worker], {})).toEqual([]);
  });

  it('is neither set nor removed while the secrets of the cluster are unavailable', async () => {
    expect(await changes([marked(first), second], undefined)).toEqual([]);
    expect(await changes([first], undefined)).toEqual([]);
  });
});

it('copies the propagated metadata in the same call', async () => {
  const cluster = aCluster({}, { labels: { [cached]: 'a', other: 'b' } });
  expect(await changes([first], undefined, cluster)).toEqual([[first.metadata.name, { labels: { [cached]: 'a' } }]]);
  const [, both] = (await changes([first], started, cluster))[0] as [string, unknown];
  expect(both).toEqual({ labels: { [cached]: 'a' }, annotations: { [mark]: 'true' } });
});

describe('a Machine that is deleted with its Cluster', () => {
  const run = async (machine: Machine, failure?: Error): Promise<string[]> => {
    const calls: string[] = [];
    const call = (what: string) => async () => {
      calls.push(what);
      if (failure) throw failure;
    };
    await deleteMachine(
      { kube: { merge: call('merge'), remove: call('remove') } } as unknown as Services,
      machine,
      signal,
    );
    return calls;
  };

  it('has its mark removed first, which the cache may not show yet', async () => {
    expect(await run(first)).toEqual(['merge', 'remove']);
    expect(await run(worker)).toEqual(['remove']);
    expect(await run(leaving(marked(first)))).toEqual([]);
  });

  it('may be gone already; any other error is thrown', async () => {
    expect(await run(first, new KubeError({ status: 404, reason: 'NotFound', message: 'gone' }))).toEqual(['merge']);
    await expect(run(first, new KubeError({ status: 403, reason: 'Forbidden', message: 'no' }))).rejects.toThrow('no');
  });
});
