import { randomUUID } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { MachineDescription } from '../machine-runner/machine.ts';
import type { RunningSimulator, Simulator, SimulatorOptions } from '../simulator.ts';
import { talosMinorOf } from './boot/decide-boot.ts';
import { writePartition } from './boot/disk-partitions.ts';
import { clientAuth, decodePem, issueLeaf, openAuthority } from './certificates/pki.ts';
import { viewOf } from './config/config-view.ts';
import { decodeConfig } from './config/decode-config.ts';
import { talosDescription } from './description.ts';
import { startTalosRunner, type TalosRunner } from './talos-runner.ts';

/** The seed of a node. */
const TalosSeed = z.strictObject({
  /** The machine configuration in STATE; without one the node is in maintenance mode. */
  config: z.string().optional(),
  version: z.string().default('1.13.9'),
  platform: z.enum(['metal', 'nocloud']).default('metal'),
  schematic: z.string().default('376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'),
  memoryMiB: z.int().default(4096),
  vcpus: z.int().default(2),
});
type TalosSeed = z.infer<typeof TalosSeed>;

/** A single installed Talos node at `host:port`, with the configuration of the seed. */
export const talosSimulator: Simulator = {
  ...talosDescription,
  async start(options: SimulatorOptions): Promise<RunningSimulator> {
    const seed = readSeed(options.seed);
    const port = options.port === 0 ? await freePort(options.host) : options.port;
    const { clock, switchboard, folder } = options;
    const runner = startTalosRunner({ clock, switchboard, folder, apiPort: port, onlyAddress: options.host });
    const machine = makeMachine(folder, seed);
    let running = runner.start(machine);
    await awaitApi(runner);
    const access = seed.config === undefined ? undefined : await writeAccess(options, seed, `${options.host}:${port}`);
    return {
      line: {
        room: 'talos',
        url: `${options.host}:${port}`,
        credentials: access?.talosconfig ? { talosconfig: access.talosconfig } : {},
        ca: access?.ca ?? null,
      },
      restart: async () => {
        running.kill();
        await running.exited;
        running = runner.start(machine);
        await awaitApi(runner);
      },
      close: async () => {
        running.kill();
        await runner.close();
      },
    };
  },
};

function readSeed(given: unknown): TalosSeed {
  const result = TalosSeed.safeParse(given ?? {});
  if (result.success) return result.data;
  throw new RangeError(`the seed is not one for talos: ${z.prettifyError(result.error)}`);
}

const diskBytes = 20 * 2 ** 30;

function makeMachine(folder: string, seed: TalosSeed): MachineDescription {
  const path = join(folder, 'disk.raw');
  writeFileSync(path, '');
  truncateSync(path, diskBytes);
  writePartition(path, 'BOOT', {
    platform: seed.platform,
    arch: 'amd64',
    version: seed.version.replace(/^v/, ''),
    schematic: seed.schematic,
    kernelArguments: [],
    extensions: [],
    firmware: 'uefi',
  });
  writePartition(path, 'META', { tags: {} });
  if (seed.config !== undefined) writePartition(path, 'STATE', { config: seed.config, nodeId: randomUUID() });
  return {
    name: 'talos',
    uuid: randomUUID(),
    vcpus: seed.vcpus,
    memoryMiB: seed.memoryMiB,
    firmware: 'uefi',
    cpuModel: 'host',
    disks: [{ path, sizeBytes: diskBytes, serial: 'disk0', order: 1000, bus: 'virtio' }],
    cdroms: [],
    nics: [{ mac: '02:00:00:00:00:01', bridge: 'br0', model: 'virtio' }],
    serialLog: join(folder, 'serial.log'),
  };
}

/** Until the API answers, or the boot cannot succeed. */
async function awaitApi(runner: TalosRunner): Promise<void> {
  for (;;) {
    const node = runner.node('talos');
    if (node?.stuck) throw new Error(`the node does not come up: ${node.stuck}`);
    if (node?.listening) return;
    await delay(20);
  }
}

/**
 * An administrator's talosconfig, and the CA as a file. A worker's configuration has no CA key and gives no
 * talosconfig.
 */
async function writeAccess(options: SimulatorOptions, seed: TalosSeed, endpoint: string) {
  const view = viewOf(decodeConfig(seed.config ?? '', talosMinorOf(seed.version.replace(/^v/, ''))));
  const ca = join(options.folder, 'ca.pem');
  writeFileSync(ca, decodePem(view.osCa.crt));
  if (view.osCa.key === '') return { ca, talosconfig: undefined };
  const authority = await openAuthority(view.osCa.crt, view.osCa.key);
  const leaf = await issueLeaf(authority, { organizations: ['os:admin'], usages: [clientAuth], hours: 8760 });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const key = leaf.key.replaceAll('PRIVATE KEY', 'ED25519 PRIVATE KEY');
  const context = { endpoints: [endpoint], ca: base64(authority.pem), crt: base64(leaf.cert), key: base64(key) };
  const talosconfig = join(options.folder, 'talosconfig');
  writeFileSync(talosconfig, stringify({ context: 'world', contexts: { world: context } }), { mode: 0o600 });
  return { ca, talosconfig };
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port: 0 }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
