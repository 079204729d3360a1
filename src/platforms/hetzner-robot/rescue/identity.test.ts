import { expect, it } from 'vitest';
import { parseRescueIdentity, type RescueIdentity, rescueMismatch } from './identity.ts';

const rescue: RescueIdentity = {
  hostname: 'rescue',
  rootDevice: '',
  rootType: 'tmpfs',
  motdIsRescue: true,
  bootId: 'b2',
  uptimeSeconds: 40,
  mac: '02:00:5e:00:00:01',
  gateway: '203.0.113.1',
  firmware: 'uefi',
};

it.each([
  ['it is', {}, {}, undefined],
  ['and everything fits', {}, { mac: '02:00:5E:00:00:01', otherThanBootId: 'b1', maxUptimeSeconds: 60 }, undefined],
  ['another name', { hostname: 'web1' }, {}, /host name is web1/],
  ['the name of rescue on an installed system', { rootDevice: '/dev/nvme0n1p3', rootType: 'ext4' }, {}, /nvme0n1p3/],
  ['no greeting', { motdIsRescue: false }, {}, /message of the day/],
  ['another machine', {}, { mac: '02:00:5e:00:00:99' }, /another machine/],
  ['the boot from before the reset', {}, { otherThanBootId: 'b2' }, /before the reset/],
  ['up for longer than since the reset', {}, { maxUptimeSeconds: 39 }, /40 s/],
])('rescue or not: %s', (_what, change, expected, reason) => {
  const found = rescueMismatch({ ...rescue, ...change }, expected);
  if (reason) expect(found).toMatch(reason);
  else expect(found).toBeUndefined();
});

const message = (root: string, type: string): string =>
  `hostname rescue\nroot ${root}\ntype ${type}\nmotd rescue\nboot b2\nuptime 40.12\nmac 02:00:5E:00:00:01\nfirmware bios\n`;

it.each([
  ['rescue', 'tmpfs', ''],
  ['overlay', 'overlay', ''],
  ['/dev/sda1', 'ext4', '/dev/sda1'],
  ['/dev/sda1[/@]', 'btrfs', '/dev/sda1[/@]'],
  ['10.0.0.1:/root', 'nfs4', '10.0.0.1:/root'],
  ['rpool/root', 'zfs', 'rpool/root'],
  ['', 'zfs', 'zfs'],
])('a root of %s (%s) lies on %j', (root, type, expected) => {
  expect(parseRescueIdentity(message(root, type))).toMatchObject({ rootDevice: expected, mac: '02:00:5e:00:00:01' });
});

it('incomplete output is refused', () => {
  expect(() => parseRescueIdentity('hostname rescue\n')).toThrow(/the output is incomplete/);
});
