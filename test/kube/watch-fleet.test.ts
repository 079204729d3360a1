import { afterAll, beforeAll, expect, it } from 'vitest';
import { requiredOpenmcpCrds } from '../../src/api/openmcp/crds.ts';
import { Cluster } from '../../src/api/openmcp/types.ts';
import { type WatchedFleet, watchFleet } from '../../src/commands/read-only/watch-fleet.ts';
import { eventually } from '../support/eventually.ts';
import { aCluster } from '../support/fixtures/builders.ts';
import { type KubeWithCrds, startKubeWithCrds } from '../support/harness/kube-with-crds.ts';
import { ManualClock } from '../support/manual-clock.ts';

let server: KubeWithCrds;
beforeAll(async () => {
  server = await startKubeWithCrds([...requiredOpenmcpCrds]);
}, 60_000);
afterAll(async () => await server?.close());

const create = async (name: string) =>
  await server.kube.create(Cluster, { ...aCluster(), metadata: { namespace: 'default', name } });

it('many changes are one state a second, time alone is one in ten, and the signal ends it', async () => {
  const clock = new ManualClock();
  const stopping = new AbortController();
  const shown: WatchedFleet[] = [];
  const watch = { kube: server.kube, namespace: 'default', clock };
  const ended = watchFleet(watch, (fleet) => shown.push(fleet), stopping.signal);
  await eventually('the first state', () => shown.length === 1);
  for (let i = 0; i < 20; i += 1) await create(`cluster-${i}`);
  // The second is not over, however many changes there were.
  expect(shown).toHaveLength(1);
  let seconds = 0;
  await eventually('every Cluster is shown', async () => {
    seconds += 1;
    await clock.advance(1000);
    return shown.at(-1)?.clusters.length === 20;
  });
  expect(shown.length).toBeLessThanOrEqual(1 + seconds);
  const before = shown.length;
  for (let i = 0; i < 30; i += 1) await clock.advance(1000);
  await eventually('the ages are shown again', () => shown.length >= before + 2);
  expect(shown.length).toBeLessThanOrEqual(before + 4);
  stopping.abort();
  await ended;
});

it('a server that has gone is a problem of what is shown, and no end', async () => {
  const clock = new ManualClock();
  const stopping = new AbortController();
  const shown: WatchedFleet[] = [];
  const watch = { kube: server.kube, namespace: undefined, clock };
  const ended = watchFleet(watch, (fleet) => shown.push(fleet), stopping.signal);
  await eventually('the first state', () => shown.length === 1);
  expect(shown[0]?.problem).toBeUndefined();
  await server.close();
  await eventually('the problem', async () => {
    await clock.advance(1000);
    return shown.at(-1)?.problem !== undefined;
  });
  expect(shown.at(-1)?.clusters).toHaveLength(20);
  stopping.abort();
  await ended;
});
