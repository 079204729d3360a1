import { randomUUID } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { SimulatorOptions } from '../../simulator.ts';
import type { DiskWrite } from '../hardware.ts';
import { BareMetalMachine } from '../machine/bare-metal-machine.ts';
import type { ServerSoftware } from '../machine/software.ts';
import type { AccountState, RobotState, ServerState } from '../state.ts';
import { consumeActivation } from '../webservice/boot-activation.ts';
import { createStoredSshKey } from '../webservice/endpoints/keys.ts';
import { buildHardware } from './build-hardware.ts';
import type { AccountSeed, RobotSeed, ServerSeed } from './seed.ts';

/** The state of a simulator before anything listens. */
export interface RobotSetup {
  readonly options: SimulatorOptions;
  readonly seed: RobotSeed;
  readonly software: ServerSoftware;
  readonly signal: AbortSignal;
  readonly sshPort: number;
  readonly ledger: DiskWrite[];
}

/** The whole state of the seed. Throws a RangeError with a sentence when it is inconsistent. */
export function createRobotState(ground: RobotSetup): RobotState {
  const { options, seed, signal } = ground;
  const accounts = seed.accounts.map((one) => createAccount(one, options.clock.now()));
  const servers = new Map<number, ServerState>();
  const robot: RobotState = {
    ...{ clock: options.clock, switchboard: options.switchboard, log: options.log, signal },
    startedAt: options.clock.now(),
    ...{ behaviour: seed.behaviour, delays: seed.delays, limits: seed.limits, accounts, servers },
    ...{ strikes: new Map(), lockouts: [], forbidden: [], maintenance: false, nextId: 50231 },
  };
  for (const [index, one] of seed.servers.entries()) {
    if (servers.has(one.number)) throw new RangeError(`there are two servers ${one.number}`);
    servers.set(one.number, createServer(ground, robot, one, index));
  }
  for (const [index, one] of seed.accounts.entries()) addVSwitchesAndFailovers(robot, accounts[index], one);
  return robot;
}

/** Address of the server at this index of the seed. */
export const addressAt = ({ network }: RobotSeed, { address }: ServerSeed, index: number): string | null =>
  address === undefined ? `${network}.${11 + index}` : address;

const createAccount = ({ user, password, keys }: AccountSeed, now: Date): AccountState => ({
  ...{ user, password },
  keys: new Map(
    keys.map(({ name, data }) => {
      const key = createStoredSshKey(name, data, now);
      return [key.fingerprint, key];
    }),
  ),
  ...{ vswitches: new Map(), failovers: new Map(), spent: new Map(), calls: new Map() },
});

function createServer(ground: RobotSetup, robot: RobotState, seed: ServerSeed, index: number): ServerState {
  const account = seed.account ? robot.accounts.find(({ user }) => user === seed.account) : robot.accounts[0];
  if (!account) throw new RangeError(`server ${seed.number}: there is no account ${seed.account}`);
  const address = addressAt(ground.seed, seed, index);
  const gateway = seed.gateway ?? `${(address ?? `${ground.seed.network}.0`).split('.').slice(0, 3).join('.')}.1`;
  const ipv6Net = seed.ipv6Net ?? `2001:db8:60:${(seed.number % 0xffff).toString(16)}::`;
  const server: ServerState = {
    ...{ number: seed.number, account, address, gateway, ipv6Net },
    ...{ name: seed.name, product: seed.product, dc: seed.dc, prefix: seed.prefix },
    ...{ status: seed.status, cancelled: seed.cancelled, paidUntil: seed.paidUntil },
    ips: [...(address === null ? [] : [address]), ...seed.extraIps],
    ...{ offers: seed.offers, resets: seed.resets },
    tellsOperatingStatus: seed.tellsOperatingStatus,
    ...{ activation: undefined, lastRescue: undefined, manualResetOpen: false },
    machine: new BareMetalMachine({
      ...machineContextOf(ground, robot, seed),
      ...{ address, prefix: seed.prefix, gateway },
      takeArmed: () => consumeActivation(robot, server),
    }),
  };
  return server;
}

/** The hardware, without its network. */
function machineContextOf(
  ground: RobotSetup,
  { delays, clock, signal, switchboard, log }: RobotState,
  seed: ServerSeed,
) {
  const { options, software, ledger, sshPort } = ground;
  const hardware = buildHardware(seed, options.folder, software);
  const keepTrimmed = hardware.disks.flatMap(({ serial }, at) => (seed.disks[at]?.keepsTrimmed ? [serial] : []));
  return {
    ...{ number: seed.number, uuid: randomUUID(), hardware, sshPort, software, runner: options.runner },
    ...{ delays, clock, signal, switchboard, log },
    keepTrimmed: new Set(keepTrimmed),
    board: { ...seed.board },
    serialLog: join(options.folder, `server-${seed.number}`, 'serial.log'),
    onWrite: (write: DiskWrite) => void ledger.push(write),
  };
}

/** The objects that connect servers and account: vSwitches and failover addresses. */
function addVSwitchesAndFailovers(
  robot: RobotState,
  account: AccountState | undefined,
  { vswitches, failovers }: AccountSeed,
): void {
  if (!account) return;
  const find = (number: number): ServerState => {
    const server = robot.servers.get(number);
    if (server?.account === account) return server;
    throw new RangeError(`account ${account.user} has no server ${number}`);
  };
  for (const { name, vlan, servers } of vswitches) {
    const members = new Map(servers.map((number) => [find(number).number, 'ready' as const]));
    const id = robot.nextId++;
    account.vswitches.set(id, { id, name, vlan, cancelled: false, members });
  }
  for (const { ip, netmask, server, active = server } of failovers) {
    const target = active === null ? null : find(active);
    const main = isIPv4(ip) ? target?.address : target?.ipv6Net;
    account.failovers.set(ip, { ip, netmask, server: find(server), active: main ?? null, locked: false });
  }
}
