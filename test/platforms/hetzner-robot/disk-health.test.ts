import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HostSpecView } from '../../../src/engine/host.ts';
import type { SmartState } from '../../world/robot/hardware.ts';
import {
  describeVerdict,
  type InstallationHosts,
  installationWithServers,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
} from './robot-platform-fixture.ts';

const sata = { bus: 'sata', sizeBytes: 2_000_000_000_000 } as const;
const failing = { serial: 'OLD1', smart: 'failing' } as const;
const [alone, beside, silent, allowedByUser] = [3140801, 3140802, 3140803, 3140804] as const;
let fixture: RobotPlatformFixture;
beforeAll(async () => {
  fixture = await openRobotPlatformFixture({
    network: '127.42.158',
    limits: { 'POST /reset': 500 },
    servers: [
      { number: alone, disks: [failing] },
      { number: beside, disks: [failing, { ...sata, serial: 'NEW1', smart: 'worn' }] },
      { number: silent, disks: [{ serial: 'GOOD1' }, { ...sata, serial: 'HUNG1', smart: 'silent' }] },
      { number: allowedByUser, disks: [failing, { ...sata, serial: 'NEW1' }] },
    ],
  });
});
afterAll(async () => await fixture?.close());

const provisionOn = async (
  installation: InstallationHosts,
  machine: string,
  durable: MachineRecord = { progress: undefined },
) => describeVerdict(await fixture.start(installation).walk('provision', machine, durable));
const installationWith = (number: number, words: Partial<HostSpecView> = {}) =>
  installationWithServers([number], words);
const touched = (number: number) => [...new Set(fixture.simulator.writes(number).map(({ serial }) => serial))];
const healthOf = ({ hosts }: InstallationHosts, number: number) =>
  hosts.of(number).hardware?.disks.map(({ serial, health }) => [serial, health]);

it('H7: no system goes to the only disk while it reports a failure, until it was replaced', async () => {
  const [lent, durable]: [InstallationHosts, MachineRecord] = [installationWith(alone), { progress: undefined }];
  expect(await provisionOn(lent, 'shop-1', durable)).toMatch(
    /^DiskFailing: Server 3140801: .*OLD1 .*\(reliability is degraded, .*Have Hetzner replace it.*spec\.rootDisk\.allowFailing/,
  );
  expect([touched(alone), healthOf(lent, alone)]).toEqual([[], [['OLD1', 'Failing']]]);
  const [disk] = fixture.simulator.server(alone).machine.box.hardware.disks;
  Object.assign(disk ?? {}, { serial: 'NEW2', wwn: 'eui.00000000000000bb', smart: 'well' satisfies SmartState });
  expect(await provisionOn(lent, 'shop-1', durable)).toBe('finished');
  expect([touched(alone), healthOf(lent, alone)]).toEqual([['NEW2'], [['NEW2', 'Passed']]]);
});

it('H7: it goes to another empty disk, although that is larger', async () => {
  const lent = installationWith(beside);
  expect(await provisionOn(lent, 'shop-2')).toBe('finished');
  expect([touched(beside), healthOf(lent, beside)]).toEqual([
    ['NEW1'],
    [
      ['OLD1', 'Failing'],
      ['NEW1', 'Passed'],
    ],
  ]);
});

it('H7: a drive that does not answer queries blocks no step', async () => {
  const lent = installationWith(silent);
  expect(await provisionOn(lent, 'shop-3')).toBe('finished');
  expect([touched(silent), healthOf(lent, silent)]).toEqual([
    ['GOOD1'],
    [
      ['GOOD1', 'Passed'],
      ['HUNG1', 'Unknown'],
    ],
  ]);
});

it('H7: a Host with a failing root disk is reported as such, and stays usable all the same', async () => {
  const lent = installationWith(allowedByUser, { rootDisk: { serial: 'OLD1', raidMembers: [] } });
  const durable: MachineRecord = { progress: undefined };
  expect(await provisionOn(lent, 'shop-4', durable)).toMatch(/^DiskFailing: /);
  expect(describeVerdict(await fixture.start(lent).walk('release', 'shop-4', durable))).toBe('finished');
  const verdict = await fixture.start(lent).walk('provision', 'shop-5', { progress: undefined }, () => true);
  expect(verdict).toMatchObject({ message: expect.stringMatching(/: 1 with a failing root disk\.$/) });
  lent.hosts.change(allowedByUser, { rootDisk: { serial: 'OLD1', raidMembers: [], allowFailing: true } });
  expect(await provisionOn(lent, 'shop-5')).toBe('finished');
  expect(touched(allowedByUser)).toEqual(['OLD1']);
});
