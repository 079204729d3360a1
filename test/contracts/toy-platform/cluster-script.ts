/**
 * Runs in a copy of the project that has the toy platform: a cluster becomes ready on it with the real controllers, and
 * is deleted again. Prints what was seen as JSON.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Machine } from '../../../src/api/machine.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import type { RunningMachine } from '../../world/machine-runner/machine.ts';

const patienceSeconds = 150;
const folder = mkdtempSync(join(tmpdir(), 'toys-'));
const testbed = await Testbed.open({ subnet: '127.42.133' });
const { objects, world } = testbed;

/** The hypervisor of the toy platform: what has a file `on` runs. */
const running = new Map<string, RunningMachine>();
function switchMachines(): void {
  const isOn = (name: string): boolean => existsSync(join(folder, name, 'on'));
  for (const name of readdirSync(folder)) if (isOn(name) && !running.has(name)) running.set(name, start(name));
  for (const [name, machine] of running) {
    if (isOn(name)) continue;
    machine.kill();
    running.delete(name);
  }
}

function start(name: string): RunningMachine {
  const path = (file: string): string => join(folder, name, file);
  const { uuid, mac, diskGiB } = JSON.parse(readFileSync(path('disk.json'), 'utf8'));
  const sizeBytes = diskGiB * 2 ** 30;
  writeFileSync(path('disk.raw'), '');
  truncateSync(path('disk.raw'), sizeBytes);
  return world.machines.start({
    ...{ name, uuid, vcpus: 2, memoryMiB: 4096, firmware: 'uefi', cpuModel: 'host' },
    disks: [{ path: path('disk.raw'), sizeBytes, serial: 'one', order: 1000, bus: 'virtio' }],
    cdroms: [
      { path: path('talos.iso'), order: 1001 },
      { path: path('seed.iso'), order: 1002 },
    ],
    nics: [{ mac, bridge: 'br0', model: 'virtio' }],
    serialLog: path('serial.log'),
  });
}

const ref = { namespace: 'shop', name: 'prod' };
const timer = setInterval(switchMachines, 20);
try {
  testbed.provider.start();
  await objects.credentials('toy', { token: 'x' });
  await objects.config('home', {
    change: (spec) => {
      const section = { folder, credentialsRef: { name: 'toy' }, sizes: [{ name: 'small', diskGiB: 20 }] };
      Object.assign(spec, { truenas: undefined, toy: section });
    },
  });
  await objects.cluster(ref, { config: 'home' });
  const isReady = async (): Promise<boolean> => (await objects.getCluster(ref)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isReady, patienceSeconds);
  const { items } = await testbed.platform.list(Machine);
  const machines = items.map(({ spec, status }) => ({ platform: spec.platform, phase: status?.phase }));
  const made = readdirSync(folder).length;
  await objects.remove(Cluster, ref);
  await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, ref)), patienceSeconds);
  const left = { folders: readdirSync(folder).length, machines: (await testbed.platform.list(Machine)).items.length };
  process.stdout.write(JSON.stringify({ machines, made, left, faults: testbed.faults() }));
} catch (error) {
  process.stderr.write(testbed.tail());
  throw error;
} finally {
  clearInterval(timer);
  for (const machine of running.values()) machine.kill();
  await testbed.close();
  rmSync(folder, { recursive: true, force: true });
}
