import type { DiskWrite } from './hardware.ts';
import type { MachinePhase } from './machine/bare-metal-machine.ts';
import type { AccountState, BootConfigKind, RobotState, ServerState } from './state.ts';
import { currentActivation } from './webservice/boot-activation.ts';

/** A test's view of one server. */
export interface RobotServerSummary {
  readonly number: number;
  readonly name: string;
  readonly address: string | null;
  readonly isOn: boolean;
  readonly phase: MachinePhase;
  /** Every phase since the start of the simulator. */
  readonly history: readonly MachinePhase[];
  readonly bootCount: number;
  readonly bootId: string | undefined;
  /** The configuration for the next network boot. */
  readonly armed: BootConfigKind | undefined;
  /** Why this boot cannot succeed. */
  readonly stuck: string | undefined;
}

/** Controls for tests. They bypass the interceptor. */
export interface RobotTestControls {
  /** The state itself, for assertions and manual changes. */
  readonly robot: RobotState;
  servers(): RobotServerSummary[];
  /** Throws a RangeError for an unknown number. */
  server(number: number): ServerState;
  /** Every write to a disk, in order; optionally of one server. */
  writes(number?: number): DiskWrite[];
  /** The number of requests per budget, including refused calls: `POST /reset` to number. */
  calls(user?: string): Readonly<Record<string, number>>;
  /** Calls that are forbidden to provisioners: cancellation, reversal, orders. */
  forbiddenCalls(): readonly string[];
  /** Addresses that were ever locked out, with the number of times. */
  lockouts(): readonly string[];
  /** Changes the password of the webservice user: the old one is refused from now on. */
  changePassword(password: string, user?: string): void;
  /** 503 to every call, or back to normal. */
  setMaintenance(isDown: boolean): void;
}

export function createRobotTestControls(robot: RobotState, ledger: readonly DiskWrite[]): RobotTestControls {
  const accountOf = (user: string | undefined): AccountState => {
    const account = user === undefined ? robot.accounts[0] : robot.accounts.find((one) => one.user === user);
    if (!account) throw new RangeError(`no account ${user}`);
    return account;
  };
  const find = (number: number): ServerState => {
    const server = robot.servers.get(number);
    if (!server)
      throw new RangeError(`no server ${number}; there is ${[...robot.servers.keys()].join(', ') || 'none'}`);
    return server;
  };
  return {
    robot,
    servers: () => [...robot.servers.values()].map((server) => summarize(robot, server)),
    server: find,
    writes: (number) => {
      for (const { machine } of robot.servers.values()) machine.look();
      return ledger.filter(({ serverNumber }) => number === undefined || serverNumber === number);
    },
    calls: (user) => Object.fromEntries(accountOf(user).calls),
    forbiddenCalls: () => robot.forbidden,
    lockouts: () => robot.lockouts,
    changePassword: (password, user) => {
      accountOf(user).password = password;
    },
    setMaintenance: (isDown) => {
      robot.maintenance = isDown;
    },
  };
}

function summarize(robot: RobotState, server: ServerState): RobotServerSummary {
  const { number, name, address, machine } = server;
  const { isOn, phase, history, bootCount, bootId, stuck: stalled } = machine;
  return {
    ...{ number, name, address, isOn, phase, bootCount, bootId, stuck: stalled },
    history: [...history],
    armed: currentActivation(robot, server)?.kind,
  };
}
