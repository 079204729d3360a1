import { afterEach, expect, it } from 'vitest';
import {
  firstServer,
  robotHarnesses,
  secondServer,
  thirdServer,
} from '../../../../test/support/harness/robot-harness.ts';
import type { RobotSeedInput } from '../../../../test/world/robot/robot-fixture.ts';
import type { HostView } from '../../../engine/host.ts';
import { previewCluster } from './preview-cluster.ts';

const { enter, closeAll } = robotHarnesses();
afterEach(closeAll);

const vswitch = { name: 'nodes', vlan: 4000 };
const ip = '203.0.113.9';

/** The preview of control planes on these servers, and the calls of Robot for it. */
async function previewed(
  seed: RobotSeedInput,
  section: object,
  numbers: readonly number[] = [firstServer, secondServer],
) {
  const { ground: context, names } = await enter(seed);
  const lines = await previewCluster({
    ...context(section),
    machines: numbers.map((number) => ({
      role: 'controlplane',
      host: { name: `server-${number}`, spec: { serverID: `${number}` }, platformSpec: {} } as HostView,
    })),
    hostedServers: () => new Set(numbers.map(String)),
  });
  return { lines: lines.map(({ effect, subject }) => `${effect} ${subject}`), asked: names() };
}

const account = (text: object): RobotSeedInput => ({ accounts: [text] });
const named = (count: number, servers: number[]) =>
  Array.from({ length: count }, (_, index) => ({ name: `old-${index}`, vlan: 4010 + index, servers }));

it('makes no calls where machines share nothing', async () => {
  expect(await previewed({}, {})).toEqual({ lines: [], asked: [] });
});

it('shows a vSwitch that would be created, and the servers that would join', async () => {
  expect(await previewed({}, { vswitch })).toEqual({
    lines: [
      'creates vSwitch nodes with VLAN 4000',
      `joins vSwitch nodes with VLAN 4000: servers ${firstServer}, ${secondServer}`,
    ],
    asked: ['GET /vswitch'],
  });
});

it('shows the members of a vSwitch', async () => {
  const { lines, asked } = await previewed(account({ vswitches: [{ ...vswitch, servers: [secondServer] }] }), {
    vswitch,
  });
  expect(lines).toEqual([
    `keeps vSwitch nodes with VLAN 4000: server ${secondServer} connected`,
    `joins vSwitch nodes with VLAN 4000: server ${firstServer}`,
  ]);
  expect(asked).toEqual(['GET /vswitch', 'GET /vswitch/{id}']);
});

it('refuses a VLAN that another vSwitch has', async () => {
  const { lines } = await previewed(account({ vswitches: [{ name: 'storage', vlan: 4000 }] }), { vswitch });
  expect(lines).toEqual([
    'blocked The vSwitch with VLAN 4000 has the name storage and not nodes. Correct hetznerRobot.vswitch.',
  ]);
});

it('refuses a server that is in five vSwitches, and reads their members only where there are so many', async () => {
  const five = await previewed(account({ vswitches: named(5, [firstServer]) }), { vswitch });
  expect(five.lines).toEqual([
    'creates vSwitch nodes with VLAN 4000',
    `joins vSwitch nodes with VLAN 4000: server ${secondServer}`,
    expect.stringMatching(new RegExp(`^blocked Server ${firstServer} is in 5 vSwitches, the maximum`)),
  ]);
  expect(five.asked).toHaveLength(6);
  const four = await previewed(account({ vswitches: named(4, [firstServer]) }), { vswitch });
  expect(four.asked).toEqual(['GET /vswitch']);
});

it('refuses servers that the vSwitch has no space for', async () => {
  const numbers = Array.from({ length: 102 }, (_, index) => 4000001 + index);
  const servers = numbers.map((number) => ({ number, disks: [] }));
  const vswitches = [{ ...vswitch, servers: numbers.slice(0, 99) }];
  const { lines } = await previewed({ servers, accounts: [{ vswitches }] }, { vswitch }, numbers.slice(98));
  expect(lines).toEqual([
    'keeps vSwitch nodes with VLAN 4000: server 4000099 connected',
    'joins vSwitch nodes with VLAN 4000: server 4000100',
    expect.stringMatching(/^blocked vSwitch nodes has 100 servers, .* Not connected: servers 4000101, 4000102\.$/),
  ]);
});

it.each([
  [
    thirdServer,
    `routes failover address ${ip} to the first healthy control plane of servers ${firstServer}, ${secondServer} (now routed to server ${thirdServer})`,
  ],
  [
    null,
    `routes failover address ${ip} to the first healthy control plane of servers ${firstServer}, ${secondServer} (now not routed)`,
  ],
  [
    secondServer,
    `keeps failover address ${ip}: routed to server ${secondServer} as long as the API server works there`,
  ],
])('shows where a failover address that is routed to %s would be routed', async (active, line) => {
  const seed = account({ failovers: [{ ip, server: thirdServer, active }] });
  const { lines, asked } = await previewed(seed, { failoverAddress: ip });
  expect(lines).toEqual([line]);
  expect(asked).toEqual(active === null ? ['GET /failover/{ip}'] : ['GET /failover/{ip}', 'GET /server']);
});

it('refuses a failover address that the account does not have', async () => {
  expect((await previewed({}, { failoverAddress: ip })).lines).toEqual([
    `blocked ${ip} is not a failover address of this account. Correct it.`,
  ]);
});
