import { AccessRequest } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { ConfigMap, withAdminClient, withGrantedClient } from '../support/access/workload-cluster.ts';
import { addressHolders } from '../support/observation/provider-calls.ts';
import { type Fleet, ownerOf } from './fleet.ts';
import { type PlannedCluster, refOf } from './fleet-layout.ts';

/** What was seen of each cluster at its birth, and written into it since. */
export class Witness {
  readonly #fleet: Fleet;
  /** The UID of kube-system is made with the data of etcd. */
  readonly #born = new Map<string, string | undefined>();
  readonly #markers: string[] = [];

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  async begin(): Promise<void> {
    await this.#each(async (cluster) => void this.#born.set(cluster.name, await this.#identityOf(cluster)));
    await this.mark('birth');
  }

  /** Writes a marker into every cluster. */
  async mark(name: string): Promise<void> {
    await this.#each((cluster) =>
      withAdminClient(this.#fleet.testbed, refOf(cluster), async (admin) => {
        const metadata = { namespace: 'default', name: `marker-${name}` };
        await admin.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { name } });
      }),
    );
    this.#markers.push(name);
  }

  /** Every sentence is something that must never be. */
  async listViolations(): Promise<string[]> {
    const found = await this.#each(async (cluster) => [
      ...(await this.#listLostMarkers(cluster)),
      ...((await this.#identityOf(cluster)) === this.#born.get(cluster.name)
        ? []
        : [`${cluster.name} has another kube-system than at its birth`]),
    ]);
    const { clusters } = this.#fleet.layout;
    const bootstraps = this.#fleet.testbed.world.machines.bootstraps();
    return [
      ...found.flat(),
      ...(bootstraps === clusters.length ? [] : [`etcd was bootstrapped ${bootstraps} times`]),
      ...(await listForeignMachines(this.#fleet)),
      ...(await listOrphans(this.#fleet)),
      ...(await listFailedAccess(this.#fleet)),
      ...listFaults(this.#fleet),
    ];
  }

  async #listLostMarkers(cluster: PlannedCluster): Promise<string[]> {
    const { items } = await withAdminClient(this.#fleet.testbed, refOf(cluster), (admin) =>
      admin.list(ConfigMap, { namespace: 'default' }),
    );
    const present = new Set(items.map(({ metadata }) => metadata.name));
    const lost = this.#markers.filter((name) => !present.has(`marker-${name}`));
    return lost.map((name) => `${cluster.name} has lost the marker ${name}`);
  }

  async #identityOf(cluster: PlannedCluster): Promise<string | undefined> {
    return await withAdminClient(this.#fleet.testbed, refOf(cluster), async (admin) => {
      const { metadata } = await admin.get(Namespace, { name: 'kube-system' });
      return metadata.uid;
    });
  }

  async #each<T>(work: (cluster: PlannedCluster) => Promise<T>): Promise<T[]> {
    return await Promise.all(this.#fleet.layout.clusters.map(work));
  }
}

/** Machines of a platform without a Machine, and those that exist twice or not at all. */
async function listForeignMachines(fleet: Fleet): Promise<string[]> {
  const machines = await fleet.machines();
  const names = machines.filter(({ spec }) => spec.platform === 'truenas').map(({ metadata }) => metadata.name);
  const found: string[] = [];
  const seen: string[] = [];
  for (const [nas, { dump }] of [...fleet.systems].map(([name, system]) => [name, { dump: system.dump() }] as const)) {
    const vms = dump.vms.map((vm) => ownerOf(String((vm as { name?: unknown }).name)));
    seen.push(...vms);
    const ids = dump.datasets.map((dataset) => String((dataset as { id?: unknown }).id).split('/')[2] ?? 'images');
    const foreign = [...new Set([...vms, ...ids.filter((id) => id !== 'images').map(ownerOf)])];
    found.push(...foreign.filter((name) => !names.includes(name)).map((name) => `${nas} has remains of ${name}`));
  }
  for (const name of new Set([...names, ...seen])) {
    const count = seen.filter((one) => one === name).length;
    if (count !== 1) found.push(`${name} has ${count} virtual machines`);
  }
  const marked = fleet.testbed.world.robot.servers().filter(({ name }) => name.startsWith('cpt.')).length;
  const bare = machines.length - names.length;
  if (marked !== bare) found.push(`${marked} servers bear our mark, and there are ${bare} Machines`);
  const holders = [...(await addressHolders(fleet.testbed)).values()];
  const all = machines.map(({ metadata }) => `machine/${metadata.name}`);
  const strays = holders.filter((holder) => holder.startsWith('machine/') && !all.includes(holder));
  return [...found, ...strays.map((holder) => `an address is claimed by ${holder}, which does not exist`)];
}

async function listOrphans({ testbed }: Fleet): Promise<string[]> {
  const { items } = await testbed.platform.list(ProviderConfig);
  return items.flatMap(({ metadata, status }) =>
    (status?.orphans ?? []).map(({ machine, message }) => `${metadata.name} has the orphan ${machine}: ${message}`),
  );
}

async function listFailedAccess({ testbed }: Fleet): Promise<string[]> {
  const { items } = await testbed.platform.list(AccessRequest);
  const answers = items.map(async ({ metadata }) => {
    const ref = { namespace: metadata.namespace ?? '', name: metadata.name };
    const work = withGrantedClient(testbed, ref, (holder) => holder.list(ConfigMap, { namespace: 'default' }));
    return await work.then(
      () => [],
      (error: unknown) => [`the kubeconfig of ${metadata.name} does not work: ${String(error)}`],
    );
  });
  return (await Promise.all(answers)).flat();
}

/** Errors that the provider logged: failures of its world are none. */
const listFaults = ({ provider }: Fleet): string[] =>
  // Accelerated time leaves reconciles less time to end than they have in reality.
  provider.errors.filter((line) => !line.includes('reconciles did not end in time'));
