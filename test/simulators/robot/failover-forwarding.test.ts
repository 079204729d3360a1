import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { testNetworkPrefix } from '../../world/network/test-network.ts';
import { type RobotSimulator, startRobotSimulator } from '../../world/robot/index.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import { startTalosRunner, type TalosRunner } from '../../world/talos/index.ts';
import { connectTalos, makeConfig, makeSecrets, type TestSecrets } from '../talos/testing/talos-test-bed.ts';

const [target, other, failover] = [`${testNetworkPrefix}.21`, `${testNetworkPrefix}.22`, `${testNetworkPrefix}.99`];
const disks = [
  { serial: 'S1', sizeBytes: 64_000_000_000, content: { kind: 'talos', version: '1.13.9', configured: false } },
];
const quick = { timeout: 20_000, interval: 20 };

let folder: string;
let talos: TalosRunner;
let simulator: RobotSimulator;
let secrets: TestSecrets;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'robot-'));
  const [clock, switchboard] = [new ScaledClock(0.005), new CallInterceptor()];
  talos = startTalosRunner({ clock, switchboard, folder });
  secrets = await makeSecrets();
  const servers = [target, other].map((address, i) => ({ number: 7 + i, memoryMiB: 4096, address, disks }));
  const seed = { network: testNetworkPrefix, servers, accounts: [{ failovers: [{ ip: failover, server: 7 }] }] };
  const place = { host: `${testNetworkPrefix}.1`, port: 0, folder, clock, switchboard, runner: talos };
  simulator = await startRobotSimulator({ ...place, extra: { 'ssh-port': 'any' }, seed });
});
afterAll(async () => {
  await simulator.close();
  await talos.close();
  await rm(folder, { recursive: true, force: true });
});

const versionAt = async (): Promise<string | undefined> => {
  const client = await connectTalos(failover, secrets);
  try {
    return (await client.machine.version({})).messages[0]?.version?.tag;
  } finally {
    client.close();
  }
};

it('connections to a failover address reach the routed server if it has the address', async () => {
  await expect.poll(() => talos.node('robot-7')?.listening, quick).toBe(true);
  await expect(versionAt()).rejects.toThrow();
  const config = makeConfig({
    ...{ secrets, role: 'controlplane', hostname: 'taker', mac: '', address: target, factory: 'factory.example.org' },
    endpoint: `https://${failover}:6443`,
    machine: {
      certSANs: [failover],
      install: { disk: '/dev/nvme0n1', wipe: false },
      network: {
        interfaces: [
          {
            deviceSelector: { hardwareAddr: simulator.server(7).machine.box.hardware.nics[0]?.mac },
            addresses: [`${target}/32`],
          },
          { interface: 'lo', addresses: [`${failover}/32`] },
        ],
      },
    },
  });
  const client = await connectTalos(target);
  // The answer may be lost when the port closes.
  await client.machine.applyConfiguration({ data: Buffer.from(config) }).catch(() => {});
  client.close();
  await expect.poll(() => versionAt().catch(String), quick).toBe('v1.13.9');
  const [account] = simulator.robot.accounts;
  Object.assign(account?.failovers.get(failover) ?? {}, { active: other });
  await expect(versionAt()).rejects.toThrow();
  Object.assign(account?.failovers.get(failover) ?? {}, { active: null });
  await expect(versionAt()).rejects.toThrow();
});
