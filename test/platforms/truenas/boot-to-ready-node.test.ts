import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advance, type Progress } from '../../../src/engine/advance.ts';
import { ProcessConnectionCache } from '../../../src/engine/connection-cache.ts';
import type { NodeSpec } from '../../../src/engine/node.ts';
import type { Facts } from '../../../src/engine/step.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { noLog } from '../../../src/lib/log.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { truenas } from '../../../src/platforms/truenas/index.ts';
import { openTalosClient } from '../../../src/talos/client/client.ts';
import { joinSteps, type TalosStepContext } from '../../../src/talos/join-steps.ts';
import { createTalosCredentials, type TalosCredentials } from '../../../src/talos/secrets/client-credentials.ts';
import { createSecretsBundle, type SecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { noHosts } from '../../support/fixtures/no-hosts.ts';
import { renderStandaloneConfig } from '../../support/fixtures/node-config.ts';
import { FakeDiskKeyStore } from '../../support/harness/fake-disk-key-store.ts';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { type ImageFactorySimulator, startImageFactory } from '../../world/image-factory/index.ts';
import { testNetworkPrefix } from '../../world/network/test-network.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import type { SimulatorOptions } from '../../world/simulator.ts';
import { startTalosRunner, type TalosRunner } from '../../world/talos/index.ts';
import { startTrueNasSimulator, type TrueNasSimulator } from '../../world/truenas/index.ts';
import { realPath } from '../../world/truenas/storage/dataset-files.ts';

const scale = 0.004;
/** Runs at the speed of the simulators. */
const clock: Clock = { ...systemClock, sleep: (ms, signal) => delay(ms * scale, undefined, signal ? { signal } : {}) };
const address = `${testNetworkPrefix}.200`;
const schematic = { extensions: ['siderolabs/qemu-guest-agent'], kernelArguments: [] };

let folder: string;
let factory: ImageFactorySimulator;
let nas: TrueNasSimulator;
let runner: TalosRunner;
let bundle: SecretsBundle;
let credentials: TalosCredentials;
const connections = new ProcessConnectionCache();
const stop = new AbortController();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'world-boots-'));
  const switchboard = new CallInterceptor();
  const world = new ScaledClock(scale);
  runner = startTalosRunner({ clock: world, switchboard, folder });
  const options: SimulatorOptions = {
    host: '127.0.0.1',
    port: 0,
    folder,
    clock: world,
    switchboard,
    runner,
    extra: {},
  };
  factory = await startImageFactory(options);
  nas = await startTrueNasSimulator(options);
  bundle = await createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 });
  credentials = createTalosCredentials(bundle, systemClock);
});
afterAll(async () => {
  stop.abort(new Error('done'));
  await connections.close();
  await nas.close();
  await runner.close();
  await factory.close();
  await rm(folder, { recursive: true, force: true });
});

const node = (): NodeSpec => ({
  name: 'shop-cp-0',
  role: 'controlplane',
  pool: 'cp',
  size: 'small',
  cluster: { namespace: 'shop', name: 'shop' },
  talos: { version: '1.13.9', schematic, factoryUrl: factory.line.url },
  labels: {},
});

async function contextOf(): Promise<(facts: Facts) => TalosStepContext> {
  const config = {
    url: nas.line.url,
    credentialsRef: { name: 'nas' },
    caBundle: await readFile(nas.line.ca ?? '', 'utf8'),
    pool: 'tank',
    bridge: 'br0',
    sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40, disks: [{ name: 'data', sizeGiB: 40 }] }],
  };
  return (facts) => ({
    config,
    credentials: {
      username: new SecretString(nas.line.credentials['user'] ?? ''),
      apiKey: new SecretString(nas.line.credentials['apiKey'] ?? ''),
    },
    owner: { installation: 'installation-1', provider: 'talos', machine: 'shop-cp-0' },
    node: node(),
    facts,
    addresses: { claim: async () => ({ address, prefix: 16, gateway: '127.42.0.1' }), release: async () => {} },
    hosts: noHosts,
    diskKey: new FakeDiskKeyStore().of('shop-cp-0'),
    connections,
    machineConfig: async (hardware) =>
      renderStandaloneConfig({
        bundle,
        hostname: 'shop-cp-0',
        address,
        hardware,
        factoryUrl: factory.line.url,
        schematic,
      }),
    maintenance: () => {
      throw new Error('a machine that is made with its configuration');
    },
    ownNode: () => {
      throw new Error('a machine that is switched off from outside');
    },
    log: noLog,
    clock,
    signal: stop.signal,
    openTalos: (at) => openTalosClient({ address: at, credentials, deadlineSeconds: 5 }),
  });
}

describe('the created machine', () => {
  it('T29, T34, S50: boots Talos from its disc images, installs itself and answers over mutual TLS, also after a start with its seed emptied; its deletion leaves nothing behind', async () => {
    const context = await contextOf();
    let saved: Progress | undefined;
    const walk = async (plan: 'provision' | 'release', until: (progress: Progress) => boolean) => {
      const steps = plan === 'provision' ? [...truenas.provision, ...joinSteps, ...truenas.postJoin] : truenas.release;
      let last: unknown;
      const end = Date.now() + 25_000;
      while (Date.now() < end) {
        const verdict = await advance<TalosStepContext>({
          plan,
          steps,
          progress: saved,
          context,
          save: async (progress) => {
            saved = progress;
          },
          clock,
          signal: stop.signal,
        });
        last = verdict;
        if (verdict.kind === 'failed') break;
        if (until(verdict.progress)) return;
        await clock.sleep(Math.min(verdict.kind === 'finished' ? 1 : verdict.seconds, 5) * 1000);
      }
      const vm = String(saved?.facts['vm']);
      const stalled = nas.nas.vms.size > 0 ? nas.stuck(vm) : undefined;
      throw new Error(`stopped at ${saved?.step}: ${JSON.stringify(last)}; ${stalled ?? 'the machine is not stuck'}`);
    };
    const answers = async () => {
      const client = openTalosClient({ address, credentials });
      await expect
        .poll(async () => JSON.stringify(await client.version().catch(String)), { timeout: 20_000 })
        .toContain('1.13.9');
      await client.close();
    };
    await walk('provision', (progress) => progress.step === 'await-member');
    await answers();
    // The other disk has the same size, and is empty as well.
    const { dataset } = saved?.facts ?? {};
    const written = async (name: string) => (await stat(realPath(nas.nas, `/dev/zvol/${dataset}/${name}`))).blocks > 0;
    expect([await written('boot'), await written('disk-data')]).toEqual([true, false]);
    // Records it as a member: from now on the machine needs its own disk only.
    saved = { ...saved!, step: 'seed-emptied', facts: { ...saved!.facts, joined: true } };
    await walk('provision', (progress) => progress.finishedAt !== undefined);
    await nas.restart({ hostReboot: true });
    await answers();
    await walk('release', (progress) => progress.finishedAt !== undefined);
    const left = nas.dump();
    expect([left.vms, left.devices]).toEqual([[], []]);
  }, 60_000);
});
