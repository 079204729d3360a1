import { afterEach, expect, it } from 'vitest';
import { first, robotScenes, second, third } from '../../../test/support/robot-scene.ts';
import type { SeedInput } from '../../../test/world/robot/testing.ts';
import type { HostView } from '../../engine/host.ts';
import { previewShared } from './preview-shared.ts';

const { enter, closeAll } = robotScenes();
afterEach(closeAll);

const vswitch = { name: 'nodes', vlan: 4000 };
const ip = '203.0.113.9';

/** What is said of control planes on these servers, and what Robot was asked for it. */
async function previewed(seed: SeedInput, section: object, numbers: readonly number[] = [first, second]) {
  const { ground, names } = await enter(seed);
  const lines = await previewShared({
    ...ground(section),
    machines: numbers.map((serverNumber) => ({
      role: 'controlplane',
      host: { name: `server-${serverNumber}`, spec: { serverNumber } } as HostView,
    })),
    servers: () => new Set(numbers),
  });
  return { lines: lines.map(({ effect, what }) => `${effect} ${what}`), asked: names() };
}

const account = (words: object): SeedInput => ({ accounts: [words] });
const named = (count: number, servers: number[]) =>
  Array.from({ length: count }, (_, index) => ({ name: `old-${index}`, vlan: 4010 + index, servers }));

it('asks nobody where machines share nothing', async () => {
  expect(await previewed({}, {})).toEqual({ lines: [], asked: [] });
});

it('tells of a vSwitch that would be made, and who would join it', async () => {
  expect(await previewed({}, { vswitch })).toEqual({
    lines: ['makes vSwitch nodes with VLAN 4000', `joins vSwitch nodes with VLAN 4000: servers ${first}, ${second}`],
    asked: ['GET /vswitch'],
  });
});

it('tells who is in a vSwitch already', async () => {
  const { lines, asked } = await previewed(account({ vswitches: [{ ...vswitch, servers: [second] }] }), { vswitch });
  expect(lines).toEqual([
    `keeps vSwitch nodes with VLAN 4000: server ${second} in it`,
    `joins vSwitch nodes with VLAN 4000: server ${first}`,
  ]);
  expect(asked).toEqual(['GET /vswitch', 'GET /vswitch/{id}']);
});

it('refuses a VLAN that another vSwitch has', async () => {
  const { lines } = await previewed(account({ vswitches: [{ name: 'storage', vlan: 4000 }] }), { vswitch });
  expect(lines).toEqual([
    'refuses The vSwitch with VLAN 4000 is called storage and not nodes. Correct hetznerRobot.vswitch.',
  ]);
});

it('refuses a server that is in five vSwitches, and asks for their members only where there are so many', async () => {
  const five = await previewed(account({ vswitches: named(5, [first]) }), { vswitch });
  expect(five.lines).toEqual([
    'makes vSwitch nodes with VLAN 4000',
    `joins vSwitch nodes with VLAN 4000: server ${second}`,
    expect.stringMatching(new RegExp(`^refuses Server ${first} is in 5 vSwitches already`)),
  ]);
  expect(five.asked).toHaveLength(6);
  const four = await previewed(account({ vswitches: named(4, [first]) }), { vswitch });
  expect(four.asked).toEqual(['GET /vswitch']);
});

it('refuses whom a vSwitch has no room for', async () => {
  const numbers = Array.from({ length: 102 }, (_, index) => 4000001 + index);
  const servers = numbers.map((number) => ({ number, disks: [] }));
  const vswitches = [{ ...vswitch, servers: numbers.slice(0, 99) }];
  const { lines } = await previewed({ servers, accounts: [{ vswitches }] }, { vswitch }, numbers.slice(98));
  expect(lines).toEqual([
    'keeps vSwitch nodes with VLAN 4000: server 4000099 in it',
    'joins vSwitch nodes with VLAN 4000: server 4000100',
    expect.stringMatching(/^refuses vSwitch nodes has 100 servers, .* Left out: servers 4000101, 4000102\.$/),
  ]);
});

it.each([
  [
    third,
    `leads failover address ${ip}: from server ${third} to the first control plane that works, out of servers ${first}, ${second}`,
  ],
  [
    null,
    `leads failover address ${ip}: from nobody to the first control plane that works, out of servers ${first}, ${second}`,
  ],
  [second, `keeps failover address ${ip}: it leads to server ${second} as long as the API server works there`],
])('tells where a failover address that leads to %s would be led', async (active, line) => {
  const seed = account({ failovers: [{ ip, server: third, active }] });
  const { lines, asked } = await previewed(seed, { failoverAddress: ip });
  expect(lines).toEqual([line]);
  expect(asked).toEqual(active === null ? ['GET /failover/{ip}'] : ['GET /failover/{ip}', 'GET /server']);
});

it('refuses a failover address that the account does not have', async () => {
  expect((await previewed({}, { failoverAddress: ip })).lines).toEqual([
    `refuses ${ip} is not a failover address of this account. Name one that is.`,
  ]);
});
