import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MachineRecord, RobotPlatformFixture, RobotProviderProcess } from './robot-platform-fixture.ts';
import { describeVerdict, openRobotPlatformFixture } from './robot-platform-fixture.ts';

const [one, otherServer, files] = [3140011, 3140012, 3140014] as const;
let fixture: RobotPlatformFixture;
let process: RobotProviderProcess;
const durable: MachineRecord = { progress: undefined };

beforeAll(async () => {
  // The test counts calls: a call that is due after ten seconds must not occur on a busy machine.
  fixture = await openRobotPlatformFixture(
    {
      network: '127.42.192',
      servers: [
        { number: one, name: 'rack-7', ipv6Net: '2001:db8:7a:11c::' },
        { number: otherServer },
        { number: files, name: 'files', disks: [{ content: { kind: 'linux', hostname: 'files', answersSsh: true } }] },
      ],
    },
    0.01,
  );
  fixture.hosts.add(one, { expect: { address: '127.42.192.11' } });
  process = fixture.start();
});
afterAll(async () => await fixture?.close());

const server = (number: number) => fixture.simulator.servers().find((candidate) => candidate.number === number);

describe('a free server', () => {
  it('P9: becomes one that waits for its configuration, with the image on one disk', async () => {
    expect(describeVerdict(await process.walk('provision', 'shop-cp-0', durable))).toBe('finished');
    expect(server(one)).toMatchObject({
      phase: 'talos',
      name: expect.stringMatching(/^cpt\..*\.shop-cp-0$/),
      armed: undefined,
    });
    expect(new Set(fixture.simulator.writes(one).map(({ serial }) => serial)).size).toBe(1);
  });

  it('H8, B14: is inspected by then: its Host reports the hardware, and holds it', () => {
    const { hardware, state, server: told } = fixture.hosts.of(one);
    expect(state).toBe('Provisioned');
    expect(told).toMatchObject({
      address: '127.42.192.11',
      product: 'AX42',
    });
    expect(hardware).toMatchObject({ firmware: 'uefi', memoryMiB: expect.any(Number) });
    expect(hardware?.disks).toHaveLength(2);
  });

  it('H17, P1, P2: took few calls', () => {
    expect(fixture.simulator.calls()).toMatchInlineSnapshot(`
      {
        "GET /boot": 2,
        "GET /server": 2,
        "POST /boot": 2,
        "POST /key": 1,
        "POST /reset": 1,
        "POST /server": 1,
      }
    `);
  });

  it('P6: is rebooted over SSH after everything is disarmed, without further calls there', () => {
    const names = fixture.switchboard.calls.map(({ name }) => name);
    const checked = names.findLastIndex((name) => name.startsWith('GET /boot'));
    expect(names.slice(checked).filter((name) => name.startsWith('ssh'))).toHaveLength(1);
  });

  it('H19: is free again after its release, under its former name', async () => {
    expect(describeVerdict(await process.walk('release', 'shop-cp-0', durable))).toBe('finished');
    expect(server(one)).toMatchObject({ phase: 'rescue', name: 'rack-7', armed: undefined });
    expect(fixture.hosts.of(one)).toMatchObject({ state: 'Available', heldBy: undefined });
  });
});

it('servers without a Host were neither called nor written to', () => {
  const paths = fixture.switchboard.calls.map(({ name }) => name).filter((name) => /31400(12|14)/.test(name));
  expect(paths).toEqual([]);
  expect([...fixture.simulator.writes(otherServer), ...fixture.simulator.writes(files)]).toEqual([]);
  expect(fixture.simulator.forbiddenCalls()).toEqual([]);
});
