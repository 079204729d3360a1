import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WorldClock } from '../clock.ts';
import { ownNetwork } from '../own-network.ts';
import { Switchboard } from '../switchboard.ts';
import { type TalosRunner, talosRunner } from '../talos/index.ts';
import { connect, makeConfig, makeSecrets, type TestSecrets } from '../talos/testing.ts';
import { type RobotRoom, startRobot } from './index.ts';

const [taker, other, failover] = [`${ownNetwork}.21`, `${ownNetwork}.22`, `${ownNetwork}.99`];
const disks = [
  { serial: 'S1', sizeBytes: 64_000_000_000, content: { kind: 'talos', version: '1.13.9', configured: false } },
];
const quick = { timeout: 20_000, interval: 20 };

let folder: string;
let talos: TalosRunner;
let room: RobotRoom;
let secrets: TestSecrets;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'robot-'));
  const [clock, switchboard] = [new WorldClock(0.005), new Switchboard()];
  talos = talosRunner({ clock, switchboard, folder });
  secrets = await makeSecrets();
  const servers = [taker, other].map((address, i) => ({ number: 7 + i, memoryMiB: 4096, address, disks }));
  const seed = { network: ownNetwork, servers, accounts: [{ failovers: [{ ip: failover, server: 7 }] }] };
  const place = { host: `${ownNetwork}.1`, port: 0, folder, clock, switchboard, runner: talos };
  room = await startRobot({ ...place, extra: { 'ssh-port': 'any' }, seed });
});
afterAll(async () => {
  await room.close();
  await talos.close();
  await rm(folder, { recursive: true, force: true });
});

const versionAt = async (): Promise<string | undefined> => {
  const client = await connect(failover, secrets);
  try {
    return (await client.machine.version({})).messages[0]?.version?.tag;
  } finally {
    client.close();
  }
};

it('what comes to a failover address reaches the server that it is routed to, if that has the address', async () => {
  await expect.poll(() => talos.node('robot-7')?.listening, quick).toBe(true);
  await expect(versionAt()).rejects.toThrow();
  const config = makeConfig({
    ...{ secrets, role: 'controlplane', hostname: 'taker', mac: '', address: taker, factory: 'factory.example.org' },
    endpoint: `https://${failover}:6443`,
    machine: {
      certSANs: [failover],
      install: { disk: '/dev/nvme0n1', wipe: false },
      network: {
        interfaces: [
          {
            deviceSelector: { hardwareAddr: room.server(7).machine.box.hardware.nics[0]?.mac },
            addresses: [`${taker}/32`],
          },
          { interface: 'lo', addresses: [`${failover}/32`] },
        ],
      },
    },
  });
  const client = await connect(taker);
  // The answer may be lost when the port closes behind it.
  await client.machine.applyConfiguration({ data: Buffer.from(config) }).catch(() => {});
  client.close();
  await expect.poll(() => versionAt().catch(String), quick).toBe('v1.13.9');
  const [account] = room.robot.accounts;
  Object.assign(account?.failovers.get(failover) ?? {}, { active: other });
  await expect(versionAt()).rejects.toThrow();
  Object.assign(account?.failovers.get(failover) ?? {}, { active: null });
  await expect(versionAt()).rejects.toThrow();
});
