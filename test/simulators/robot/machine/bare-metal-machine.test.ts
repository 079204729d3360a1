import fc from 'fast-check';
import { afterEach, describe, expect, it, test } from 'vitest';
import {
  type RobotFixture,
  type RobotSeedInput,
  readRecordedContent,
  useRobotFixtures,
} from '../../../world/robot/robot-fixture.ts';
import type { BootActivation } from '../../../world/robot/state.ts';
import { worldSeconds } from '../../../world/robot/world-time.ts';

const { enter, closeAll } = useRobotFixtures();
afterEach(closeAll);

const linux = { kind: 'linux', hostname: 'files' };
const talos = { kind: 'talos', version: '1.13.9', configured: false };
const address = '127.42.60.11';
const oneServer = (change: object = {}): RobotSeedInput => ({ servers: [{ number: 7, ...change }] });
const withLinux = oneServer({ resets: ['sw', 'hw', 'power', 'power_long'], disks: [{ serial: 'S1', content: linux }] });
const withTalos = oneServer({
  resets: ['sw', 'hw', 'power'],
  disks: [{ serial: 'S1', content: talos }, { serial: 'S2' }],
});

const summaryOf = ({ simulator }: RobotFixture) => simulator.servers()[0]!;
const phaseOf = (world: RobotFixture) => summaryOf(world).phase;
const arm = ({ ask }: RobotFixture) => ask('POST /boot/7/rescue', { form: 'os=linux' });
const isArmed = async ({ ask }: RobotFixture) => (await ask('GET /boot/7/rescue')).body.rescue.active;

/** Resets the server, and waits. */
async function reset(world: RobotFixture, type: string, seconds: number): Promise<void> {
  await world.ask('POST /reset/7', { form: `type=${type}` });
  await world.clock.pass(seconds);
}

/** From a reset into the rescue system. */
async function bootIntoRescue(world: RobotFixture): Promise<void> {
  await arm(world);
  await reset(world, 'hw', 45 + 15 + 100);
  expect(phaseOf(world)).toBe('rescue');
}

describe('rescue', () => {
  it('is consumed by the network boot, long before it answers, and has a boot id', async () => {
    const world = await enter(oneServer());
    const { body } = await arm(world);
    await reset(world, 'hw', 59);
    expect([phaseOf(world), await isArmed(world)]).toEqual(['network', true]);
    await world.clock.pass(1);
    expect([phaseOf(world), await isArmed(world)]).toEqual(['loading', false]);
    await world.clock.pass(99);
    expect(world.software.running.size).toBe(0);
    await world.clock.pass(1);
    expect(world.software.running.get(address)).toMatchObject({ kind: 'rescue', password: body.rescue.password });
    const { history, bootId } = summaryOf(world);
    expect(history.slice(1)).toEqual(['post', 'network', 'nothing', 'post', 'network', 'loading', 'rescue']);
    await bootIntoRescue(world);
    expect([undefined, bootId]).not.toContain(summaryOf(world).bootId);
  });

  it('lasts one boot: the next one goes to the disk', async () => {
    const world = await enter(withLinux);
    await bootIntoRescue(world);
    world.software.running.get(address)?.power('reboot');
    await world.clock.pass(4);
    expect(phaseOf(world)).toBe('rescue');
    await world.clock.pass(1);
    expect(phaseOf(world)).toBe('post');
    await world.clock.pass(45 + 15 + 30);
    expect([phaseOf(world), world.software.running.get(address)?.kind]).toEqual(['linux', 'files']);
  });

  it('armed alone reboots nothing, and disarmed does not boot', async () => {
    const world = await enter(withLinux);
    await arm(world);
    await world.clock.pass(600);
    expect(summaryOf(world).bootCount).toBe(1);
    await world.ask('DELETE /boot/7/rescue');
    await reset(world, 'hw', 300);
    expect(phaseOf(world)).toBe('linux');
  });

  it.each([
    ['is lost when a second reset restarts the boot while it is loaded', 80, 'linux'],
    ['still boots after a reset during the self test', 44, 'rescue'],
  ])('%s', async (_, seconds, phase) => {
    const world = await enter(withLinux);
    await arm(world);
    await reset(world, 'hw', seconds);
    await reset(world, 'hw', 300);
    expect(phaseOf(world)).toBe(phase);
  });

  const [disk, network] = [
    { id: '0000', label: 'debian', target: { kind: 'disk', serial: 'S1' } },
    { id: '0001', label: 'PXE', target: { kind: 'network', nic: 'eth0' } },
  ];
  it.each([
    ['the disk comes first', { firmware: { entries: [disk, network] } }],
    ['its entry is switched off', { firmware: { entries: [{ ...network, active: false }, disk] } }],
    ['only another NIC has a cable', { nics: [{ speedMbps: 0 }, { speedMbps: 10_000 }] }],
  ])('is skipped where %s, and stays armed', async (_, change) => {
    const world = await enter(oneServer({ disks: [{ serial: 'S1', content: linux }], ...change }));
    await arm(world);
    await reset(world, 'hw', 300);
    expect([phaseOf(world), await isArmed(world)]).toEqual(['linux', true]);
  });

  it('may be fetched and never start: another attempt needs another activation', async () => {
    const world = await enter(oneServer({ board: { lostRescues: 1 } }));
    await arm(world);
    await reset(world, 'hw', 3600);
    expect(await isArmed(world)).toBe(false);
    expect(summaryOf(world)).toMatchObject({ phase: 'hung', stuck: 'the rescue system does not come up' });
    await bootIntoRescue(world);
  });

  it('sees names of disks that rotate at some boards, and serials that stay', async () => {
    const disks = [{ serial: 'S1' }, { serial: 'S2' }, { bus: 'sata', serial: 'S3' }];
    const world = await enter(oneServer({ disks, board: { swapsDiskNames: true, udevSeconds: 20 } }));
    await bootIntoRescue(world);
    const first = world.software.running.get(address);
    expect(first).toMatchObject({ names: ['nvme0n1', 'nvme1n1', 'sda'], udevSeconds: 20 });
    await bootIntoRescue(world);
    expect(world.software.running.get(address)?.names).toEqual(['nvme1n1', 'nvme0n1', 'sda']);
    expect(world.simulator.server(7).machine.box.hardware.disks.map(({ serial }) => serial)).toEqual([
      'S1',
      'S2',
      'S3',
    ]);
  });
});

describe('the boot order', () => {
  const disk = (serial: string, content: object = { kind: 'blank' }) => ({ serial, content });
  const entry = (id: string, serial: string) => ({ id, label: serial, target: { kind: 'disk', serial } });
  const entries = [entry('0001', 'S1'), entry('0002', 'S2')];

  it.each([
    ['the disk that it names first', [linux, talos], { entries, order: ['0002', '0001'] }, 'talos'],
    ['the next disk where an entry has no loader', [undefined, linux], { entries }, 'linux'],
    ['a loader without an entry', [undefined, talos], { findsLoaders: true }, 'talos'],
    ['nothing, where the board does not search for loaders', [undefined, talos], { findsLoaders: false }, 'nothing'],
  ] as const)('boots %s', async (_, [one, two], firmware, phase) => {
    const world = await enter(oneServer({ disks: [disk('S1', one), disk('S2', two)], firmware }));
    expect(phaseOf(world)).toBe(phase);
    if (phase === 'talos') expect(world.runner.started[0]?.disks.map(({ order }) => order)).toEqual([1, 0]);
  });

  it('with an installer armed erases every disk without confirmation, and the ledger shows it', async () => {
    const world = await enter(
      oneServer({ disks: [disk('S1'), { sizeBytes: 1_000_000, ...disk('S2', { kind: 'ceph' }) }] }),
    );
    const [, ceph] = world.simulator.server(7).machine.box.hardware.disks;
    const activation = { kind: 'linux', system: 'Debian 12 base', password: null, keys: [], at: 0 } as const;
    world.simulator.server(7).activation = activation;
    expect(world.simulator.writes()).toEqual([]);
    await reset(world, 'hw', 60);
    expect(phaseOf(world)).toBe('installing');
    const write = { serverNumber: 7, offset: 0, by: 'install linux' };
    expect(world.simulator.writes()).toEqual([
      { ...write, serial: 'S1', length: 512_110_190_592 },
      { ...write, serial: 'S2', length: 1_000_000 },
    ]);
    expect(readRecordedContent(ceph?.path ?? '')).toEqual({ kind: 'blank' });
    await world.clock.pass(240 + 60 + 30);
    expect([phaseOf(world), world.software.running.get(address)?.kind]).toEqual(['linux', 'linux']);
  });
});

describe('a reset', () => {
  it('by hw is immediate; by sw and power it asks the system, and power switches a server on', async () => {
    const world = await enter(withLinux);
    await reset(world, 'sw', 4);
    expect(phaseOf(world)).toBe('linux');
    await world.clock.pass(1);
    expect(phaseOf(world)).toBe('post');
    await world.clock.pass(90);
    await reset(world, 'hw', 0);
    expect([phaseOf(world), world.software.running.size]).toEqual(['post', 0]);
    await world.clock.pass(90);
    await reset(world, 'power', 5);
    expect(summaryOf(world)).toMatchObject({ phase: 'off', isOn: false });
    await reset(world, 'power', 90);
    expect(phaseOf(world)).toBe('linux');
  });

  it('by power_long switches off, and only power switches on again', async () => {
    const world = await enter(withLinux);
    await arm(world);
    for (const type of ['power_long', 'power_long', 'hw', 'sw']) await reset(world, type, 0);
    await world.clock.pass(600);
    expect([phaseOf(world), await isArmed(world)]).toEqual(['off', true]);
    await reset(world, 'power', 160);
    expect(phaseOf(world)).toBe('rescue');
  });

  it('of a hung system has to be hw: sw and power are ignored', async () => {
    const world = await enter(withLinux);
    world.simulator.server(7).machine.hang();
    await world.clock.pass(1);
    for (const type of ['sw', 'power']) await reset(world, type, 300);
    expect([phaseOf(world), world.software.running.size]).toEqual(['hung', 0]);
    await reset(world, 'hw', 90);
    expect(phaseOf(world)).toBe('linux');
  });

  it('in the firmware restarts by sw, and switches off by power', async () => {
    const world = await enter(withLinux);
    await reset(world, 'hw', 30);
    await reset(world, 'sw', 44);
    expect(phaseOf(world)).toBe('post');
    await reset(world, 'power', 0);
    expect(phaseOf(world)).toBe('off');
  });
});

describe('Talos', () => {
  it('gets the hardware of the machine, and its address by DHCP on the main NIC', async () => {
    const nics = [{ mac: '02:00:00:00:00:01' }, { mac: '02:00:00:00:00:02' }];
    const world = await enter(oneServer({ disks: [{ content: talos }], nics, memoryMiB: 32768 }));
    const [started] = world.runner.started;
    expect(started).toMatchObject({ memoryMiB: 32768, vcpus: 16, firmware: 'uefi', rebootEnds: true });
    const dhcp = { address, prefix: 26, gateway: '127.42.60.1' };
    expect(started?.nics).toMatchObject([{ mac: '02:00:00:00:00:01', dhcp }, { mac: '02:00:00:00:00:02' }]);
    expect(started?.nics[1]).not.toHaveProperty('dhcp');
  });

  it('that reboots goes through the firmware: an armed configuration comes first', async () => {
    const world = await enter(withTalos);
    await arm(world);
    world.runner.started[0]?.end('reboot');
    await world.clock.pass(160);
    expect(phaseOf(world)).toBe('rescue');
  });

  it('is off after its shutdown and by the power button; it comes back after sw, and hw, as the same machine', async () => {
    const world = await enter(withTalos);
    for (const type of ['sw', 'hw']) await reset(world, type, 60);
    expect([phaseOf(world), world.runner.started.length]).toEqual(['talos', 3]);
    expect(new Set(world.runner.started.map(({ uuid }) => uuid)).size).toBe(1);
    await reset(world, 'power', 60);
    expect(summaryOf(world)).toMatchObject({ phase: 'off', isOn: false });
    await reset(world, 'power', 60);
    world.runner.started.at(-1)?.end('off');
    await world.clock.pass(1);
    expect(phaseOf(world)).toBe('off');
  });

  it('that writes to a disk is in the ledger, with that disk alone', async () => {
    const world = await enter(withTalos);
    expect(world.simulator.writes()).toEqual([]);
    world.runner.started[0]?.scribble();
    const write = { serverNumber: 7, serial: 'S1', offset: 0, length: 512_110_190_592, by: 'talos' };
    for (let i = 0; i < 2; i += 1) expect(world.simulator.writes(7)).toEqual([write]);
  });
});

describe('a server', () => {
  it('whose system cannot start hangs, and reports the reason', async () => {
    const world = await enter(oneServer());
    world.software.failure = 'EADDRNOTAVAIL';
    await arm(world);
    await reset(world, 'hw', 160);
    expect(summaryOf(world)).toMatchObject({ phase: 'hung', stuck: 'EADDRNOTAVAIL' });
  });

  it('starts as its seed says: with a running Linux, without a boot, or off', async () => {
    const world = await enter(oneServer({ disks: [{ bus: 'sata', content: linux }] }));
    expect(world.software.running.get(address)).toMatchObject({ kind: 'files', root: 'sda3' });
    const off = await enter(oneServer({ power: 'off', disks: [{ content: linux }] }));
    await off.clock.pass(600);
    expect(summaryOf(off)).toMatchObject({ phase: 'off', bootCount: 0 });
  });

  it.each([
    [{ servers: [{ number: 7 }, { number: 7 }] }, /two servers 7/],
    [{ servers: [{ number: 7, account: 'x' }] }, /there is no account x/],
    [{ servers: [{ number: 0 }] }, /the seed is not one for robot/],
    [{ accounts: [{ failovers: [{ ip: '198.51.100.7', server: 1 }] }] }, /has no server 1/],
  ])('an invalid seed is refused with a sentence: %j', async (seed, sentence) => {
    await expect(enter(seed)).rejects.toThrow(sentence);
  });
});

describe('after any actions', () => {
  const powerActions = ['on', 'hang', 'cycle', 'os reboots', 'os goes off', 'hw', 'sw', 'power', 'power_long'];
  const Actions = fc.array(
    fc.oneof(fc.constantFrom('arm', 'disarm', ...powerActions), fc.integer({ min: 0, max: 200 })),
    { maxLength: 25 },
  );

  async function perform({ simulator, clock, software }: RobotFixture, action: string | number): Promise<void> {
    const server = simulator.server(7);
    const { machine } = server;
    if (typeof action === 'number') return await clock.pass(action);
    const at = worldSeconds(simulator.robot);
    const activation: BootActivation = { kind: 'rescue', system: 'linux', keys: [], password: `p${at}`, at };
    if (action === 'arm') server.activation = activation;
    else if (action === 'disarm') server.activation = undefined;
    else if (action === 'on') machine.switchOn();
    else if (action === 'hang') machine.hang();
    else if (action === 'cycle') machine.powerCycle();
    else if (action === 'os reboots') software.running.get(address)?.power('reboot');
    else if (action === 'os goes off') software.running.get(address)?.power('off');
    else machine.reset(action as 'hw');
  }

  test('one system runs at a time, each activation boots once, no disk is written, and the server recovers', async () => {
    await fc.assert(
      fc.asyncProperty(Actions, async (actions) => {
        const world = await enter(oneServer({ disks: [{ content: linux }] }));
        for (const action of actions) await perform(world, action);
        await world.clock.pass(1000);
        const { isOn, phase, stuck, history } = summaryOf(world);
        expect([isOn, stuck]).toEqual([phase !== 'off', undefined]);
        expect(world.software.running.size).toBe(['linux', 'rescue'].includes(phase) ? 1 : 0);
        const armed = actions.filter((action) => action === 'arm').length;
        expect(history.filter((one) => one === 'loading').length).toBeLessThanOrEqual(armed);
        expect(world.simulator.writes()).toEqual([]);
        world.simulator.server(7).activation = undefined;
        world.simulator.server(7).machine.powerCycle();
        await world.clock.pass(1000);
        expect(summaryOf(world)).toMatchObject({ isOn: true, phase: 'linux', stuck: undefined });
        await closeAll();
      }),
      { numRuns: 60 },
    );
  });
});
