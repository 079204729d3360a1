import { openSync, readSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ServerState } from '../../world/robot/state.ts';
import { InMemoryHosts } from './in-memory-hosts.ts';
import { claimServer, joinAsNode, newSecrets, type ProvisionedServer, seedWithTalos } from './node-fixture.ts';
import {
  describeVerdict,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
  type RobotProviderProcess,
} from './robot-platform-fixture.ts';

const other = { user: '#ws+OtherOne', password: 'the-password-of-others' };
const numbers = Array.from({ length: 14 }, (_, index) => 3140701 + index);
const ended = [3140721, 3140722];
let fixture: RobotPlatformFixture;
let life: RobotProviderProcess;
let login: RobotPlatformFixture['login'];
let nextIndex = 0;

beforeAll(async () => {
  const servers = [
    ...numbers.map((number) => ({ number, name: 'rack-7', ...seedWithTalos })),
    ...ended.map((number) => ({ number, name: 'rack-7', paidUntil: '2020-01-31', ...seedWithTalos })),
  ];
  const limits = { 'GET /server': 5000, 'POST /server': 5000, 'POST /reset': 5000 };
  fixture = await openRobotPlatformFixture({ network: '127.42.49', accounts: [{}, other], limits, servers }, 0.01);
  fixture.cluster = await newSecrets();
  ({ login } = fixture);
  life = fixture.start();
});
beforeEach(() => {
  fixture.hosts = new InMemoryHosts();
});
afterEach(() => {
  fixture.login = login;
  fixture.switchboard.clear();
});
afterAll(async () => await fixture?.close());

/** A machine that has been written to its server, as its steps leave it. */
async function newProvisionedServer(number = numbers[nextIndex++] ?? Number.NaN): Promise<ProvisionedServer> {
  const held = await claimServer(fixture, life, number);
  const claimed = await life.context(held.machine, {}).hosts.current();
  const { progress } = await claim(held.machine);
  const facts = { ...progress?.facts, ...held.durable.progress?.facts, host: claimed?.name ?? '' };
  held.durable.progress = { ...held.durable.progress!, facts };
  return held;
}

/** The record of a machine right after the assignment of its Host. */
async function claim(machine: string): Promise<MachineRecord> {
  const durable: MachineRecord = { progress: undefined };
  await life.walk('provision', machine, durable, undefined, 'host-claimed');
  return durable;
}

const release = async ({ machine, durable }: ProvisionedServer): Promise<string> =>
  describeVerdict(await fixture.start().walk('release', machine, durable));
const serverOf = ({ number }: ProvisionedServer): ServerState => fixture.simulator.server(number);
const holderOf = ({ number }: ProvisionedServer): string | undefined => fixture.hosts.of(number).heldBy;

/** Whether the written disk is blank at the start of its system. */
function isBlank(held: ProvisionedServer): boolean {
  const [root] = serverOf(held).machine.box.hardware.disks;
  const head = Buffer.alloc(2 ** 20);
  readSync(openSync(root?.path ?? '', 'r'), head, 0, head.length, 0);
  return head.equals(Buffer.alloc(head.length));
}

/** Expects a rejection for that reason, with the Host and the disk unchanged, and success after `repair`. */
async function isRejectedUntil(held: ProvisionedServer, reason: RegExp, repair: () => void): Promise<void> {
  expect(await release(held)).toMatch(reason);
  expect([holderOf(held), isBlank(held)]).toEqual([held.machine, false]);
  repair();
  expect(await release(held)).toBe('finished');
  expect([holderOf(held), isBlank(held), serverOf(held).name]).toEqual([undefined, true, 'rack-7']);
}

describe('a server that the account does not list', () => {
  const empty = { kind: 'error', status: 200, body: [] } as const;
  const notFound = {
    ...({ kind: 'error', status: 404 } as const),
    body: { error: { status: 404, code: 'SERVER_NOT_FOUND', message: 'server not found' } },
  };

  it.each([
    ['an empty list', empty],
    ['a list with the answer 404', notFound],
  ])('is not released by %s', async (_, fault) => {
    const held = await newProvisionedServer();
    fixture.switchboard.fail('robot', /^GET \/server$/, fault, 100);
    await isRejectedUntil(held, /^ServerUnknown: .*does not list server \d+, which may still run/, () =>
      fixture.switchboard.clear(),
    );
  });

  it('is not released with the login of another account, which is named as the reason', async () => {
    const held = await newProvisionedServer();
    fixture.login = other;
    await isRejectedUntil(held, /^AccountDiffers: .*Secret robot/, () => {
      fixture.login = login;
    });
  });

  it('is not released by failed lists', async () => {
    const held = await newProvisionedServer();
    fixture.switchboard.fail('robot', /^GET \/server$/, { kind: 'error', status: 500, body: 'oops' }, 3);
    expect(await release(held)).toBe('finished');
    expect(isBlank(held)).toBe(true);
  });

  it('is reported as unknown and not as gone, and as of another account with the login of another one', async () => {
    const { hetznerRobot } = await import('../../../src/platforms/hetzner-robot/index.ts');
    const held = await newProvisionedServer();
    fixture.login = other;
    const { facts = {} } = held.durable.progress ?? {};
    const { account: _, ...older } = facts;
    expect(await hetznerRobot.observe(fixture.start().context(held.machine, facts))).toMatchObject({
      exists: true,
      drift: [{ reason: 'AccountDiffers' }],
    });
    expect(await hetznerRobot.observe(fixture.start().context(held.machine, older))).toMatchObject({
      exists: true,
      drift: [{ reason: 'ServerUnknown' }],
    });
  });

  it('is released when nothing was written to it: there is nothing to prove', async () => {
    const number = numbers[nextIndex++] ?? Number.NaN;
    fixture.hosts.add(number);
    const durable = await claim('shop-new');
    fixture.switchboard.fail('robot', /^GET \/server$/, empty, 100);
    expect(await release({ number, machine: 'shop-new', durable })).toBe('finished');
    expect(fixture.hosts.of(number).heldBy).toBeUndefined();
  });

  it('is released unchanged after approval', async () => {
    const held = await newProvisionedServer();
    fixture.login = other;
    expect(await release(held)).toMatch(/^AccountDiffers/);
    // The record as the controller stores it after approval of the reason.
    const { progress } = held.durable;
    const facts = { ...progress?.facts, approved: 'AccountDiffers' };
    held.durable.progress = { ...progress!, step: 'leftovers-armed', facts };
    const before = fixture.switchboard.calls.length;
    expect(await release(held)).toBe('finished');
    expect([holderOf(held), fixture.switchboard.calls.slice(before)]).toEqual([undefined, []]);
  });
});

describe('a server that has another name in Robot', () => {
  it('is recognized by its number: our own node proves the ownership, and it is erased', async () => {
    const held = await newProvisionedServer();
    await joinAsNode(fixture, life, held);
    serverOf(held).name = 'the one below the window';
    expect(await release(held)).toBe('finished');
    expect([isBlank(held), serverOf(held).name, holderOf(held)]).toEqual([true, 'rack-7', undefined]);
  });

  it('is neither changed nor released without a proof of ownership', async () => {
    const held = await newProvisionedServer();
    const { name } = serverOf(held);
    serverOf(held).name = 'photos';
    await isRejectedUntil(held, /^ServerRenamed: .*name of server \d+ in Robot is "photos" instead of cpt\./, () => {
      serverOf(held).name = name;
    });
  });

  it('is neither changed nor released with a foreign ownership mark, whatever answers', async () => {
    const held = await newProvisionedServer();
    await joinAsNode(fixture, life, held);
    serverOf(held).name = 'bm-theirs';
    expect(await release(held)).toMatch(/^ServerRenamed: .*bm-theirs/);
    expect([holderOf(held), serverOf(held).name, isBlank(held)]).toEqual([held.machine, 'bm-theirs', false]);
  });
});

describe('a server that was cancelled', () => {
  it('runs until its last day, and is erased before', async () => {
    const held = await newProvisionedServer();
    serverOf(held).cancelled = true;
    expect(await release(held)).toBe('finished');
    expect([isBlank(held), holderOf(held)]).toEqual([true, undefined]);
  });

  it('is released unchanged after its last day', async () => {
    const held = await newProvisionedServer(ended[0]);
    serverOf(held).cancelled = true;
    expect(await release(held)).toBe('finished');
    expect([isBlank(held), holderOf(held)]).toEqual([false, undefined]);
  });
});

describe('a machine that was written to its server', () => {
  it('is not released when its Host is gone', async () => {
    const held = await newProvisionedServer();
    fixture.hosts.all.clear();
    expect(await release(held)).toMatch(new RegExp(`^HostLost: Server ${held.number} was written to`));
  });

  it('is not released when its Host is deleted meanwhile', async () => {
    const held = await newProvisionedServer();
    const hush = fixture.switchboard.onCall(({ name }) => {
      if (name === 'GET /server') fixture.hosts.all.clear();
    });
    // The status of the Host is written right after that list.
    expect(await release(held).catch(String)).toMatch(/holds no Host|^HostLost/);
    hush();
    expect(await release(held)).toMatch(/^HostLost/);
  });

  it('is not released when its record is lost', async () => {
    const held = await newProvisionedServer();
    Object.assign(fixture.hosts.of(held.number), { state: 'Provisioned' });
    held.durable.progress = { ...held.durable.progress!, facts: {} };
    expect(await release(held)).toMatch(/^RecordLost: By the status of Host server-\d+, server \d+ was written to/);
    expect([holderOf(held), isBlank(held)]).toEqual([held.machine, false]);
  });
});
