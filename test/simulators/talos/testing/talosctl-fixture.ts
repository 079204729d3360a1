import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../../src/kube/transport/transport.ts';
import { renderMachineConfig } from '../../../../src/talos/config/machine-config.ts';
import type { SecretsBundle } from '../../../../src/talos/secrets/secrets-bundle.ts';
import { KubeNode } from '../../../support/fixtures/kube-node.ts';
import { renderAdminTalosconfig } from '../../../talos/admin-talosconfig.ts';
import { exampleConfigInput, exampleSecretsBundle } from '../../../talos/example-config.ts';
import { nextMac, rewriteBootDisc, startTalosTestBed, type TalosTestBed, waitUntilDefined } from './talos-test-bed.ts';
import { talosVersion } from './test-config.ts';

/** The result of a talosctl run. */
export interface TalosctlResult {
  readonly code: number;
  /** Both streams. */
  readonly text: string;
}

export interface TalosctlFixture {
  readonly world: TalosTestBed;
  readonly folder: string;
  /** Runs talosctl with the talosconfig of this scene, in its folder, with an empty home. */
  run(...args: string[]): Promise<TalosctlResult>;
  /** Its output. Throws when it fails. */
  says(...args: string[]): Promise<string>;
  /** Its output. Throws when it does not fail. */
  fails(...args: string[]): Promise<string>;
  /** Writes a file into the folder and returns its name. */
  file(name: string, text: string): string;
  /**
   * Switches a machine on: with this configuration on its disc, or with a network and no configuration. Returns its
   * address.
   */
  start(name: string, config?: (place: MachinePlacement) => string, version?: string): string;
  close(): Promise<void>;
}

/** The machine's values that its configuration needs. */
export interface MachinePlacement {
  readonly name: string;
  readonly address: string;
  readonly mac: string;
  /** `host:port` of the factory. */
  readonly factory: string;
}

/**
 * Machines, and a real talosctl with only the given files. The clock is slow enough to observe the stages of a machine.
 */
export async function startTalosctlFixture(binary: string, scale = 0.01): Promise<TalosctlFixture> {
  const world = await startTalosTestBed(scale);
  const folder = mkdtempSync(join(tmpdir(), 'talosctl-'));
  mkdirSync(join(folder, 'home'));
  const environment = { PATH: process.env['PATH'] ?? '', HOME: join(folder, 'home') };
  const run = (...args: string[]): Promise<TalosctlResult> =>
    new Promise((resolve) => {
      const options = { cwd: folder, env: environment, timeout: 60_000, encoding: 'utf8' } as const;
      execFile(binary, args, options, (error, out, text) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, text: `${out}${text}` });
      });
    });
  const assessed = async (args: string[], wanted: boolean): Promise<string> => {
    const { code, text } = await run(...args);
    if ((code === 0) !== wanted) throw new Error(`talosctl ${args.join(' ')} ended with ${code}:\n${text}`);
    return text;
  };
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return name;
  };
  return {
    ...{ world, folder, run, file },
    says: (...args) => assessed(args, true),
    fails: (...args) => assessed(args, false),
    start: (name, config, version = talosVersion) => {
      const place = { name, address: world.address(), mac: nextMac(), factory: world.factory.place };
      const machine = world.machine(name, cidataFilesOf(place, config?.(place)));
      rewriteBootDisc(machine, { version });
      world.start(machine);
      return place.address;
    },
    close: async () => {
      await world.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A network on its disc, and a configuration unless it is absent or empty. */
function cidataFilesOf({ name, address, mac }: MachinePlacement, config: string | undefined): Record<string, string> {
  const network = { version: 2, ethernets: { any: { match: { macaddress: mac }, addresses: [`${address}/16`] } } };
  return {
    'meta-data': `instance-id: x\nlocal-hostname: ${name}\n`,
    'network-config': stringify(network),
    ...(config ? { 'user-data': config } : {}),
  };
}

/** The configuration of a node as the product writes it. */
export function renderProductConfig(
  bundle: SecretsBundle,
  { name, address, mac, factory }: MachinePlacement,
  change: { readonly role?: 'controlplane' | 'worker'; readonly endpoint?: string; readonly version?: string } = {},
): string {
  const { role = 'controlplane', endpoint = address, version = talosVersion } = change;
  const { vip: _none, ...input } = exampleConfigInput(bundle);
  const links = [{ mac, addresses: [`${address}/16`], gateway: '127.42.0.1' }];
  const hardware = { ...input.hardware, providerId: `truenas://nas/${name}`, links };
  const installerImage = `${factory}/nocloud-installer/${'a'.repeat(64)}:v${version}`;
  const more = { role, hostname: name, endpoint: `https://${endpoint}:6443`, talosVersion: version };
  return renderMachineConfig({ ...input, ...more, hardware, installerImage }).reveal();
}

/** The talosconfig of the product, for these control planes. */
export async function renderProductTalosconfig(bundle: SecretsBundle, ...endpoints: string[]): Promise<string> {
  const options = { now: new Date(), lifetimeSeconds: 3600, clusterName: 'example', nodes: endpoints.slice(0, 1) };
  return (await renderAdminTalosconfig(bundle, { ...options, endpoints })).reveal();
}

/** Waits until machines run from their disks. */
export const awaitInstalled = (fixture: TalosctlFixture, ...names: string[]): Promise<true> =>
  waitUntilDefined(
    `${names.join(', ')} to run from disk`,
    () => names.every((name) => fixture.world.runner.node(name)?.console.some((line) => line.includes('from disk'))),
    30,
  );

/** Bootstraps on the address as soon as the node accepts it. */
export const bootstrapCluster = (fixture: TalosctlFixture, config: string, address: string): Promise<true> =>
  waitUntilDefined('the bootstrap', async () => {
    const target = ['--talosconfig', config, '--endpoints', address, '--nodes', address];
    return (await fixture.run(...target, 'bootstrap')).code === 0;
  });

export const awaitNodesReady = (fixture: TalosctlFixture, ...names: string[]): Promise<true> =>
  waitUntilDefined(
    `${names.join(', ')} to be ready`,
    () => names.every((name) => fixture.world.runner.node(name)?.ready),
    30,
  );

/** The nodes of the cluster of a kubeconfig in the folder, by name. */
export async function nodeNamesOf(fixture: TalosctlFixture, kubeconfig: string): Promise<string[]> {
  const connection = loadApiServerConnection({ path: join(fixture.folder, kubeconfig) });
  const client = new KubeClient(new Transport(connection), { fieldManager: 'tests' });
  try {
    return (await client.list(KubeNode)).items.map(({ metadata }) => metadata.name).sort();
  } finally {
    await client.close();
  }
}

export { exampleSecretsBundle };
