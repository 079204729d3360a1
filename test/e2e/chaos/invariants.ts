import { Host } from '../../../src/api/host.ts';
import type { Machine } from '../../../src/api/machine.ts';
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
  const bare = machines.filter(({ spec }) => spec.platform !== 'truenas');
  found.push(...(await listForeignServers(fleet, bare)));
  const holders = [...(await addressHolders(fleet.testbed)).values()];
  const all = machines.map(({ metadata }) => `machine/${metadata.name}`);
  const strays = holders.filter((holder) => holder.startsWith('machine/') && !all.includes(holder));
  return [...found, ...strays.map((holder) => `an address is claimed by ${holder}, which does not exist`)];
}

/** A server that died keeps its mark until it is used again. */
async function listForeignServers({ testbed }: Fleet, machines: readonly Machine[]): Promise<string[]> {
  const { items } = await testbed.platform.list(Host);
  const unused = items.filter(({ spec, status }) => spec.wipe && !status?.machineRef).map(({ spec }) => spec.serverID);
  const marked = testbed.world.robot.servers().filter(({ name }) => name.startsWith('cpt.'));
  const used = marked.filter(({ number }) => !unused.includes(`${number}`));
  const found = machines.flatMap(({ metadata }) => {
    const count = used.filter(({ name }) => name.endsWith(`.${metadata.name}`)).length;
    return count === 1 ? [] : [`${count} servers bear the mark of ${metadata.name}`];
  });
  if (used.length === machines.length) return found;
  return [...found, `${used.length} servers are in use, and there are ${machines.length} Machines`];
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

/**
 * Errors that the provider logged: failures of its world are none. Accelerated time leaves reconciles less time to end than
 * they have in reality; a platform cluster that is restored or cut off takes the Lease away.
 */
const listFaults = ({ provider }: Fleet): string[] =>
  provider.errors.filter((line) => !/reconciles did not end in time|leadership is lost/.test(line));
