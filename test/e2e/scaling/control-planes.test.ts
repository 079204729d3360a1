import { afterAll, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, machineName } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { eventually } from '../../support/eventually.ts';
import { renderAdminKubeconfig } from '../../talos/admin-kubeconfig.ts';
import { AddressPoller } from '../support/access/address-poller.ts';
import { ApiServerPoller } from '../support/access/api-server-poller.ts';
import { clientFromKubeconfig, etcdVoters, readSecretsBundle } from '../support/access/workload-cluster.ts';
import { deletionsSince, phasesSince } from '../support/observation/scaling.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.221' });
const cluster = { namespace: 'shop', name: 'planes' };
const nameOf = (slot: number) => machineName(cluster, 'cp', slot);
/** Polls all control planes: one of them answers. */
let poller: ApiServerPoller;
/** Polls the address that they share. */
let shared: AddressPoller;

const isReady = async () => (await open().objects.getCluster(cluster)).status?.phase === 'Ready';
const change = (replicas: number) =>
  open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { controlPlane: { replicas } } });
const slots = async () => (await open().objects.machines(cluster)).map(({ spec }) => spec.slot);

prepareTestbed(open, async (testbed) => {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config('home', { controlPlanes: 5 });
  await objects.cluster(cluster);
  await eventually('the Cluster is ready', isReady, 200);
  const { endpoint: server = '' } = (await objects.machines(cluster))[0]?.spec ?? {};
  const bundle = await readSecretsBundle(testbed, cluster);
  const kubeconfigAt = (server: string) =>
    renderAdminKubeconfig(bundle, { clusterName: cluster.name, lifetimeSeconds: 3600, now: new Date(), server });
  const clients = (await objects.machines(cluster)).map(async ({ status }) =>
    clientFromKubeconfig(await kubeconfigAt(`https://${status?.address}:6443`)),
  );
  poller = new ApiServerPoller(await Promise.all(clients));
  shared = await AddressPoller.start(await kubeconfigAt(server));
});
afterAll(async () => {
  await poller?.stop();
  await shared?.stop();
});

it.each([3, 1])('D35: etcd shrinks to %i members, one control plane after the other, and serves', async (replicas) => {
  const since = new Date();
  await change(replicas);
  await eventually('the others are gone', async () => (await slots()).length === replicas, 150);
  const { most, names } = deletionsSince(open(), since);
  expect(most).toBe(1);
  expect(names).toHaveLength(2);
  expect(phasesSince(open(), cluster, since)).toEqual(['Ready']);
  const [kept = 0] = await slots();
  expect([...(await etcdVoters(open(), cluster, nameOf(kept))).keys()].sort()).toEqual((await slots()).map(nameOf));
});

it('D35: the one that is left is marked, so that it is not deleted', async () => {
  const [kept = 0] = await slots();
  const name = nameOf(kept);
  await eventually('it is marked', async () => {
    const { metadata } = await open().platform.get(Machine, { name });
    return metadata.annotations?.[annotations.onlyControlPlane] === 'true';
  });
  await expect(open().objects.remove(Machine, { name })).rejects.toThrow(/the only control plane/);
});

it('D35: of two control planes that are deleted at the same time, one leaves etcd after the other is replaced', async () => {
  const [kept = 0] = await slots();
  await change(3);
  await eventually('there are three', async () => (await isReady()) && (await slots()).length === 3, 110);
  await eventually('all vote', async () => (await etcdVoters(open(), cluster, nameOf(kept))).size === 3);
  const [first = '', second = ''] = (await slots()).filter((slot) => slot !== kept).map(nameOf);
  const uidOf = async (name: string) => (await open().platform.find(Machine, { name }))?.metadata.uid;
  const before = [await uidOf(first), await uidOf(second)];
  await Promise.all([first, second].map((name) => open().objects.remove(Machine, { name })));
  let fewest = 3;
  await eventually(
    'both are replaced and vote',
    async () => {
      const voters = await etcdVoters(open(), cluster, nameOf(kept));
      fewest = Math.min(fewest, voters.size);
      const now = [await uidOf(first), await uidOf(second)];
      return voters.size === 3 && now.every((uid, i) => uid !== undefined && uid !== before[i]);
    },
    170,
  );
  expect(fewest).toBe(2);
  await eventually('the Cluster is ready', isReady, 60);
}, 300_000);

it('an API server answered all the time, and the shared address moved', () => {
  expect(poller.answered).toBeGreaterThan(50);
  expect(poller.failures).toEqual([]);
  // It moves before its holder leaves etcd. In the world of this test, seconds are longer than real ones.
  expect(shared.silentSeconds).toBeLessThan(2);
  expect(open().faults()).toEqual([]);
});
