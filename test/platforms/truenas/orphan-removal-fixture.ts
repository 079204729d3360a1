import { Machine } from '../../../src/api/machine.ts';
import { annotations } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import type { OrphanEntry } from '../../../src/api/orphan-entry.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { collectOrphans, type OrphanReport } from '../../../src/controllers/garbage/orphans/collect-orphans.ts';
import { OrphanStatusWriter } from '../../../src/controllers/garbage/orphans/orphan-status-writer.ts';
import type { OrphanScope } from '../../../src/controllers/garbage/orphans/scan-orphans.ts';
import { AddressLeases, addressHolder } from '../../../src/controllers/shared/addresses/address-leases.ts';
import { diskKeyOf } from '../../../src/controllers/shared/secrets/disk-keys.ts';
import type { Services } from '../../../src/controllers/shared/services.ts';
import type { MachineDiskKey } from '../../../src/engine/machine-disk-key.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { noLog } from '../../../src/lib/log.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { aCluster, aMachine, aProviderConfig } from '../../support/fixtures/builders.ts';
import { type KubeWithCrds, startKubeWithCrds } from '../../support/harness/kube-with-crds.ts';
import { openmcpCrds } from '../../world/operator/crds.ts';
import { fixtureClock, openProcesses, TrueNasProviderProcess } from './true-nas-platform-fixture.ts';

const home = { name: 'home' };
const address = '192.168.10.77';

/** The remains on a NAS, a platform cluster without objects for them, and a provider with that NAS. */
export class OrphanRemovalFixture {
  readonly kube: KubeClient;
  /** Reasons of Events, e.g. `OrphanFound`. */
  readonly messages: string[] = [];
  readonly #server: KubeWithCrds;
  #ahead = 0;

  private constructor(server: KubeWithCrds) {
    this.#server = server;
    this.kube = server.kube;
  }

  static async open(): Promise<OrphanRemovalFixture> {
    const server = await startKubeWithCrds(openmcpCrds);
    for (const name of ['openmcp-system', 'team']) {
      const type: ResourceType = {
        group: '',
        version: 'v1',
        kind: 'Namespace',
        plural: 'namespaces',
        namespaced: false,
      };
      await server.kube.create(type, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } as KubeObject);
    }
    return new OrphanRemovalFixture(server);
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  /** Resets to a ProviderConfig without a scan for orphans, and nothing else. */
  async reset(): Promise<void> {
    const types: ResourceType[] = [ProviderConfig, Machine, Cluster];
    for (const type of types)
      for (const { metadata } of (await this.kube.list(type)).items) await this.kube.remove(type, metadata);
    for (const name of ['shop-cp-0', 'shop-cp-1']) await this.#leases().release(addressHolder.machine(name), forever);
    this.messages.splice(0);
    this.#ahead = 0;
    const { status: _, metadata: __, ...config } = aProviderConfig();
    await this.kube.create(ProviderConfig, { ...config, metadata: home });
  }

  async machine(name: string): Promise<void> {
    const { status: _, ...machine } = aMachine();
    await this.kube.create(Machine, { ...machine, metadata: { name } });
  }

  /** The Cluster of Machines with such names. */
  async cluster(): Promise<void> {
    const { status: _, metadata, ...cluster } = aCluster();
    const { name, namespace = '' } = metadata;
    await this.kube.create(Cluster, { ...cluster, metadata: { name, namespace } });
  }

  async claim(name: string): Promise<void> {
    await this.#leases().claim(addressHolder.machine(name), [address], new Set(), forever);
  }

  async holder(): Promise<string | undefined> {
    return await this.#leases().holderOf(address, forever);
  }

  /** The key that encrypts the disks of a machine. */
  diskKey(machine: string): MachineDiskKey {
    return diskKeyOf(this.#services(new TrueNasProviderProcess()), machine, forever);
  }

  #leases(): AddressLeases {
    return new AddressLeases(this.kube, 'openmcp-system', 'talos');
  }

  async ask(names: string): Promise<void> {
    await this.kube.merge(ProviderConfig, home, { metadata: { annotations: { [annotations.removeOrphans]: names } } });
  }

  /** Only this advances the clock of orphans, however long a test takes. */
  wait(hours: number): void {
    this.#ahead += hours * 3_600_000;
  }

  /** Advances the clock so many times by three quarters of an hour, with a scan after each. */
  async watch(times: number): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      this.wait(0.75);
      await this.look(openProcesses[0]);
    }
  }

  async orphans(): Promise<OrphanEntry[]> {
    return (await this.kube.get(ProviderConfig, home)).status?.orphans ?? [];
  }

  /**
   * One scan by a process that was just started. Its cache contains no Machine. `afterScan` runs once, before the
   * provider decides about what it has found.
   */
  async look(
    process = new TrueNasProviderProcess(),
    change: object = {},
    afterScan?: () => Promise<unknown>,
  ): Promise<OrphanReport> {
    const config = await this.kube.get(ProviderConfig, home);
    const { facts: _, owner: __, node: ___, ...context } = process.context('none', {}, change);
    const services = this.#services(process);
    const check = { ...context, failureDomain: undefined };
    const capability = truenas.garbage!.orphans!;
    let next = afterScan;
    const find: OrphanScope['orphans']['find'] = async (about) => {
      const found = await capability.find(about);
      const due = next;
      next = undefined;
      await due?.();
      return found;
    };
    const scope: OrphanScope = { platform: 'truenas', orphans: { ...capability, find }, check };
    const writer = new OrphanStatusWriter(services, config, forever);
    const report = await collectOrphans(services, writer, [scope], { away: [], signal: forever });
    const { orphans = null, orphanCount = null } = report.listed;
    await this.kube.merge(ProviderConfig, home, { status: { orphans, orphanCount } }, { subresource: 'status' });
    return report;
  }

  /** Scans until nothing is left, or nothing changes any more. */
  async settle(process = new TrueNasProviderProcess(), change: object = {}): Promise<void> {
    for (let round = 0; round < 100; round += 1) {
      const { requeueAfterSeconds, search } = await this.look(process, change);
      const isUnknown = ['PlatformUnreachable', 'PlatformRejected'].includes(search.result);
      if (requeueAfterSeconds === undefined && !isUnknown) return;
      await fixtureClock.sleep(Math.min(requeueAfterSeconds ?? 5, 5) * 1000);
    }
    throw new Error(`it does not come to an end: ${JSON.stringify(await this.orphans())}`);
  }

  #services(process: TrueNasProviderProcess): Services {
    const standing: Clock = { ...fixtureClock, now: () => new Date(Date.UTC(2026, 10, 21) + this.#ahead) };
    const none = { get: () => undefined, list: () => [], by: () => [] };
    return {
      ...{ environment: 'test', provider: 'talos', namespace: 'openmcp-system', installation: 'installation-1' },
      stores: {
        machines: { ...none, isSynced: true },
        providerConfigs: none,
        profiles: none,
        secrets: none,
        nodePools: none,
      },
      ...{ kube: this.kube, platforms: [truenas], connections: process.connections, addresses: this.#leases() },
      events: { record: (...words: unknown[]) => this.messages.push(String(words[2])) },
      observer: { step: () => {} },
      ...{ clock: standing, log: noLog },
    } as unknown as Services;
  }
}

const forever = new AbortController().signal;
