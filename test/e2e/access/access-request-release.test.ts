import { afterEach, expect, it } from 'vitest';
import { findFalseCondition } from '../../../src/api/conditions.ts';
import { accessSecretName, instanceFinalizers, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { apiVersionOf } from '../../../src/kube/resource.ts';
import { eventually } from '../../support/eventually.ts';
import { callNas, identityOnNas } from '../support/access/nas.ts';
import { listAccessObjects } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.137' });
const inShop = (name: string): NamespacedRef => ({ namespace: 'shop', name });
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
/** Holds access that is withdrawn during the tests. */
const own = inShop('own');

const ask = (name: string, cluster = 'ready') =>
  open().objects.request(inShop(name), { clusterRef: inShop(cluster), token: { permissions: [{ rules }] } });
/** The same for a Cluster that existed when the operator processed the request, and does not exist now. */
async function askAfter(name: string, cluster: string): Promise<void> {
  const profile = open().objects.profileOf('home');
  await open().platform.create(AccessRequest, {
    apiVersion: apiVersionOf(AccessRequest),
    kind: AccessRequest.kind,
    metadata: { ...inShop(name), labels: { [openmcpKeys.provider]: 'talos', [openmcpKeys.profile]: profile } },
    spec: { clusterRef: inShop(cluster), token: { permissions: [{ rules }] } },
  });
  const status = { phase: 'Pending', observedGeneration: 1 };
  await open().platform.merge(AccessRequest, inShop(name), { status }, { subresource: 'status' });
}
const remove = (name: string) => open().objects.remove(AccessRequest, inShop(name));
const patch = (name: string, change: object) => open().platform.merge(AccessRequest, inShop(name), change);
const handTo = (name: string, provider: string) =>
  patch(name, { metadata: { labels: { [openmcpKeys.provider]: provider } } });

const isReady = async (name: string): Promise<boolean> =>
  (await open().objects.getCluster(inShop(name))).status?.phase === 'Ready';
const isGranted = async (name: string): Promise<boolean> => {
  const { metadata, status } = await open().objects.getRequest(inShop(name));
  return status?.phase === 'Granted' && status.observedGeneration === metadata.generation;
};
const beGranted = (name: string) => eventually(`${name} is granted`, () => isGranted(name), 60);
const isGone = async (name: string): Promise<boolean> => !(await open().objects.exists(AccessRequest, inShop(name)));
const isLetGo = async (name: string): Promise<boolean> =>
  !(await open().objects.getRequest(inShop(name))).metadata.finalizers?.includes(
    instanceFinalizers(open().provider.instance).accessRequest,
  );

let comeBack = (): void => {};
/** From now on no call to that simulator gets an answer. */
const noResponse = (simulator: string): void => {
  comeBack = open().world.switchboard.judge((call) => (call.simulator === simulator ? { kind: 'drop' } : undefined));
};
afterEach(() => comeBack());

async function grantAndTakeAway(name: string, cluster: string, simulator = 'workload'): Promise<void> {
  await ask(name, cluster);
  await beGranted(name);
  noResponse(simulator);
  await remove(name);
}

/** Destroys the virtual machines and their disks, as an administrator does on the system. */
async function destroyMachinesOf(cluster: string): Promise<void> {
  for (const { metadata } of await open().objects.machines(inShop(cluster))) {
    const { vmName, dataset } = await identityOnNas(open(), metadata.name);
    const vms = (await callNas(open(), 'vm.query', [[], {}])) as readonly { id: number; name: string }[];
    const id = vms.find(({ name }) => name === vmName)?.id;
    await callNas(open(), 'vm.poweroff', [id]);
    await callNas(open(), 'vm.delete', [id, {}]);
    await callNas(open(), 'pool.dataset.delete', [dataset, { recursive: true, force: true }]);
  }
}

/** A reason why a request has to wait for its release, the message it reports meanwhile, and the way out. */
interface Wait {
  readonly name: string;
  /** Name of the request. */
  readonly on: string;
  readonly begin: () => Promise<unknown>;
  /** What the condition reports during the wait; absent when the request does not have to wait. */
  readonly says?: RegExp;
  readonly exit?: () => Promise<unknown>;
  readonly end: (name: string) => Promise<boolean>;
}

const waits: readonly Wait[] = [
  {
    name: 'the Cluster does not exist yet',
    on: 'a',
    begin: () => askAfter('a', 'later'),
    says: /^spec\.clusterRef: there is no Cluster shop\/later\. Create it/,
    exit: () => open().objects.cluster(inShop('later')),
    end: isGranted,
  },
  {
    name: 'the NAS is away and the Cluster is not created yet',
    on: 'b',
    begin: async () => {
      noResponse('truenas');
      await open().objects.cluster(inShop('slow'));
      await ask('b', 'slow');
    },
    says: /^Cluster shop\/slow is not ready yet\. Access is granted afterwards\.$/,
    exit: async () => comeBack(),
    end: isGranted,
  },
  {
    name: 'the Cluster is deleted before it is ready',
    on: 'c',
    begin: async () => {
      noResponse('truenas');
      await open().objects.cluster(inShop('never'));
      await ask('c', 'never');
      await open().objects.remove(Cluster, inShop('never'));
      await eventually('it is on its way', async () => !(await isReady('never')));
      comeBack();
      await eventually('the Cluster is gone', async () => !(await open().objects.exists(Cluster, inShop('never'))), 60);
    },
    says: /^spec\.clusterRef: there is no Cluster shop\/never\./,
    exit: () => remove('c'),
    end: isGone,
  },
  {
    name: 'the NAS is away and the Cluster exists: there is no wait',
    on: 'd',
    begin: async () => {
      noResponse('truenas');
      await ask('d');
    },
    end: isGranted,
  },
  {
    name: 'the ClusterProfile was deleted by hand: there is no wait',
    on: 'e',
    begin: async () => {
      await open().objects.remove(ClusterProfile, { name: open().objects.profileOf('home') });
      await ask('e');
    },
    end: isGranted,
  },
  {
    name: 'the ProviderConfig is being deleted: there is no wait',
    on: 'f',
    begin: async () => {
      await open().objects.remove(ProviderConfig, { name: 'doomed' });
      await ask('f', 'doomed');
    },
    end: isGranted,
  },
  {
    name: 'the Cluster is deleted with everything in it',
    on: 'f',
    begin: async () => {
      await open().objects.remove(Cluster, inShop('doomed'));
      await eventually('it is gone', async () => !(await open().objects.exists(Cluster, inShop('doomed'))), 60);
    },
    says: /^spec\.clusterRef: there is no Cluster shop\/doomed\./,
    exit: () => remove('f'),
    end: isGone,
  },
  {
    name: 'the provider was stopped and started again',
    on: 'g',
    begin: () => askAfter('g', 'low'),
    says: /there is no Cluster shop\/low/,
    exit: async () => {
      await open().provider.stop();
      await open().objects.cluster(inShop('low'));
      open().provider.start();
    },
    end: isGranted,
  },
  {
    name: 'it is deleted while its cluster is away, and the cluster comes back',
    on: 'h',
    begin: () => grantAndTakeAway('h', 'ready'),
    says: /^Access is revoked as soon as the cluster answers, or when it no longer exists\. /,
    exit: async () => comeBack(),
    end: isGone,
  },
  {
    name: 'it is deleted while its cluster is away, and the cluster is deleted as well',
    on: 'i',
    begin: () => grantAndTakeAway('i', 'later'),
    says: /^Access is revoked as soon as the cluster answers, or when it no longer exists\. /,
    exit: () => open().objects.remove(Cluster, inShop('later')),
    end: isGone,
  },
  {
    name: 'its machines were destroyed by hand with their disks, and the Cluster remains',
    on: 'j',
    begin: async () => {
      await ask('j', 'low');
      await beGranted('j');
      await destroyMachinesOf('low');
      await remove('j');
    },
    end: isGone,
  },
  {
    name: 'it is assigned to another provider',
    on: own.name,
    begin: () => handTo(own.name, 'another'),
    end: isLetGo,
  },
  {
    name: 'it is assigned to us again',
    on: own.name,
    begin: () => handTo(own.name, 'talos'),
    end: isGranted,
  },
  {
    name: 'it is assigned to another provider while our provider is stopped',
    on: own.name,
    begin: async () => {
      await open().provider.stop();
      await handTo(own.name, 'another');
      open().provider.start();
    },
    end: isLetGo,
  },
  {
    name: 'it was assigned to another provider and is deleted',
    on: own.name,
    begin: () => remove(own.name),
    end: isGone,
  },
];

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  for (const config of ['home', 'doomed']) await objects.config(config);
  await objects.cluster(inShop('ready'));
  await objects.cluster(inShop('doomed'), { config: 'doomed' });
  for (const name of ['ready', 'doomed']) await eventually(`${name} is ready`, () => isReady(name), 100);
  await ask(own.name);
  await beGranted(own.name);
});

it.each(waits)('C70, C71, C72: an AccessRequest is released when $name', async ({ on, begin, says, exit, end }) => {
  await begin();
  if (says) {
    await eventually('it says what it waits for', async () => {
      const { status } = await open().objects.getRequest(inShop(on));
      return says.test(findFalseCondition(status?.conditions, 'Ready')?.message ?? '');
    });
  }
  await exit?.();
  await eventually('it gets out', () => end(on), 60);
  if (end === isLetGo) {
    expect(await open().objects.exists(Secret, { ...own, name: accessSecretName(own) })).toBe(false);
    expect(await listAccessObjects(open(), inShop('ready'), own)).toEqual([]);
  }
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
