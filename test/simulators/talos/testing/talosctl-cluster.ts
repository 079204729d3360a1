import type { SecretsBundle } from '../../../../src/talos/secrets/secrets-bundle.ts';
import {
  awaitInstalled,
  awaitNodesReady,
  bootstrapCluster,
  exampleSecretsBundle,
  renderProductConfig,
  renderProductTalosconfig,
  startTalosctlFixture,
  type TalosctlFixture,
  type TalosctlResult,
} from './talosctl-fixture.ts';
import { talosVersion } from './test-config.ts';

/** Two control planes and a worker with the product's configurations, and talosctl with the product's talosconfig. */
export interface TalosctlCluster {
  readonly fixture: TalosctlFixture;
  readonly bundle: SecretsBundle;
  /** Addresses of the nodes of these names. */
  readonly one: string;
  readonly two: string;
  readonly worker: string;
  /** The configuration of each node, by name. */
  readonly configs: ReadonlyMap<string, string>;
  /** Runs talosctl for the node of this address. */
  run(address: string, ...args: string[]): Promise<TalosctlResult>;
  /** Its output. Throws when it fails. */
  says(address: string, ...args: string[]): Promise<string>;
  /** Its output. Throws when it does not fail. */
  fails(address: string, ...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/** The control planes run from their disks; nothing is bootstrapped. */
export async function startTalosctlCluster(binary: string, version = talosVersion): Promise<TalosctlCluster> {
  const fixture = await startTalosctlFixture(binary);
  const bundle = await exampleSecretsBundle();
  const configs = new Map<string, string>();
  const start = (name: string, role: 'controlplane' | 'worker', endpoint?: string) =>
    fixture.start(
      name,
      (place) => {
        const change = { role, endpoint: endpoint ?? place.address, version };
        const config = renderProductConfig(bundle, place, change);
        configs.set(name, config);
        return config;
      },
      version,
    );
  const one = start('one', 'controlplane');
  const two = start('two', 'controlplane', one);
  const worker = start('worker', 'worker', one);
  fixture.file('talosconfig', await renderProductTalosconfig(bundle, one, two));
  // A worker forwards no calls.
  const on = (address: string, args: readonly string[]) => [
    ...['--talosconfig', 'talosconfig', '--endpoints', address === worker ? one : address, '--nodes', address],
    ...args,
  ];
  await awaitInstalled(fixture, 'one', 'two');
  return {
    ...{ fixture, bundle, one, two, worker, configs },
    run: (address, ...args) => fixture.run(...on(address, args)),
    says: (address, ...args) => fixture.says(...on(address, args)),
    fails: (address, ...args) => fixture.fails(...on(address, args)),
    close: () => fixture.close(),
  };
}

/** All nodes are ready. */
export async function startBootstrappedCluster(binary: string, version = talosVersion): Promise<TalosctlCluster> {
  const cluster = await startTalosctlCluster(binary, version);
  await bootstrapCluster(cluster.fixture, 'talosconfig', cluster.one);
  await awaitNodesReady(cluster.fixture, 'one', 'two', 'worker');
  return cluster;
}
