import { describe, expect, it } from 'vitest';
import { clusterSecretsName } from '../../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import {
  ConfigMap,
  grantedKubeconfig,
  listAccessObjects,
  withGrantedClient,
  withTalosAdminClient,
} from '../support/access/workload-cluster.ts';
import {
  addressHolders,
  bootstrappedNodes,
  infrastructureWrites,
  isProviderCall,
  listLeftovers,
  listNasLeftovers,
  providerWrites,
  workloadWrites,
} from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** The observations that the provider makes every minute take place every two seconds here. */
const open = startTestbed({ subnet: '127.42.105', speed: 30 });
const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const token = { permissions: [{ rules }, { namespace: 'inside', rules }] };

interface Point {
  readonly simulator: string;
  readonly name: RegExp;
}

/** Calls that are executed without a reply. `fault-sweep` tests every call with one node. */
const lost: readonly Point[] = [
  { simulator: 'truenas', name: /^pool\.dataset\.create$/ },
  { simulator: 'truenas', name: /^vm\.create$/ },
  { simulator: 'truenas', name: /^vm\.device\.create$/ },
  { simulator: 'truenas', name: /^vm\.start$/ },
  { simulator: 'talos', name: /^machine\.MachineService\/Bootstrap$/ },
];

prepareTestbed(open, async ({ objects, world }) => {
  for (const { simulator, name } of lost) world.switchboard.fail(simulator, name, { kind: 'lose-reply' });
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 1 });
  await objects.cluster(main);
  await objects.request(main, { clusterRef: main, token });
  await eventually('access is granted', async () => (await objects.getRequest(main)).status?.phase === 'Granted', 110);
});

it('C26: three control planes and a worker have nothing twice, although the replies to the create calls were lost', async () => {
  const testbed = open();
  const { objects, recorder, namespace } = testbed;
  const machines = await objects.machines(main);
  expect(machines).toHaveLength(4);
  const made = (kind: string): string[] =>
    listNasLeftovers(testbed).filter((fingerprint) => fingerprint.startsWith(`${kind} `));
  expect(made('VM')).toHaveLength(4);
  // A folder and a disk for each.
  expect(made('dataset')).toHaveLength(8);
  expect([...(await addressHolders(testbed)).values()].sort()).toEqual(
    ['cluster/shop/main', ...machines.map(({ metadata }) => `machine/${metadata.name}`)].sort(),
  );
  const secrets = recorder.of(Secret, { namespace, name: clusterSecretsName(main) });
  expect(new Set(secrets.map(({ object }) => object.metadata.uid)).size).toBe(1);
  expect(new Set(bootstrappedNodes(testbed.calls)).size).toBe(1);
  expect(testbed.world.machines.bootstraps()).toBe(1);
  const address = machines[0]?.status?.address ?? '';
  expect(await withTalosAdminClient(testbed, main, address, (node) => node.etcdMembers())).toHaveLength(3);
  expect(await listAccessObjects(testbed, main, main)).toHaveLength(5);
  await withGrantedClient(testbed, main, async (holder) => await holder.list(ConfigMap));
});

/** The provider's changes everywhere, without its own Lease. */
const writesIn = (calls: readonly InterceptedCall[]): string[] => [
  ...providerWrites(calls),
  ...workloadWrites(calls),
  ...infrastructureWrites(calls),
];

/** Waits until the provider has made each of these calls so many times since `start`. */
async function hasLooked(start: number, times: number, looks: readonly Point[]): Promise<void> {
  await eventually('everything was looked at', () => {
    const calls = open().calls.slice(start).filter(isProviderCall);
    return looks.every(
      ({ simulator, name }) => calls.filter((c) => c.simulator === simulator && name.test(c.name)).length >= times,
    );
  });
}

const atRest: readonly Point[] = [{ simulator: 'truenas', name: /^vm\.query$/ }];
const afterRestart: readonly Point[] = [
  ...atRest,
  { simulator: 'workload', name: /^GET \/api\/v1\/namespaces\/kube-system$/ },
  { simulator: 'kube', name: /^GET .*\/machines\/.*-work-0$/ },
];

describe('in the idle state', () => {
  it('the provider writes nothing, neither to the platform nor to a cluster nor to a machine', async () => {
    const testbed = open();
    // The last reports of the tests before.
    await eventually('the last word is said', async () => {
      const start = testbed.calls.length;
      await consistently(1, () => expect(writesIn(testbed.calls.slice(start))).toEqual([]));
      return true;
    });
    const start = testbed.calls.length;
    await hasLooked(start, 3, atRest);
    expect(writesIn(testbed.calls.slice(start))).toEqual([]);
  });

  it('a restart writes nothing either', async () => {
    const testbed = open();
    const before = await grantedKubeconfig(testbed, main);
    const start = testbed.calls.length;
    await testbed.provider.restart();
    await hasLooked(start, 1, afterRestart);
    await eventually('the access was looked at', () =>
      testbed.calls
        .slice(start)
        .some(({ simulator, name }) => simulator === 'workload' && /^GET .*\/rolebindings/.test(name)),
    );
    await consistently(1, () => expect(writesIn(testbed.calls.slice(start))).toEqual([]));
    expect(await grantedKubeconfig(testbed, main)).toBe(before);
  });
});

it('a deletion leaves nothing behind', async () => {
  const testbed = open();
  const { objects } = testbed;
  await objects.remove(AccessRequest, main);
  await eventually('the request is gone', async () => !(await objects.exists(AccessRequest, main)));
  await objects.remove(Cluster, main);
  await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, main)), 60);
  await objects.remove(ProviderConfig, { name: 'home' });
  await eventually('nothing is left', async () => {
    expect(await listLeftovers(testbed)).toEqual([]);
    return true;
  });
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});

it('no secret appears in any log line, event, status or condition', () => {
  expect(findSecretLeaks(open())).toEqual([]);
});
