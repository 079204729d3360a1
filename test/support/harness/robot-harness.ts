import { setMaxListeners } from 'node:events';
import { ProcessConnectionCache } from '../../../src/engine/connection-cache.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { ProviderError } from '../../../src/lib/errors.ts';
import { noLog } from '../../../src/lib/log.ts';
import type { CompletedCall } from '../../../src/lib/observers.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import type { RobotScope } from '../../../src/platforms/hetzner-robot/api/account.ts';
import type { RobotClient } from '../../../src/platforms/hetzner-robot/api/client.ts';
import { connectRobot } from '../../../src/platforms/hetzner-robot/api/connect.ts';
import { RobotConfig } from '../../../src/platforms/hetzner-robot/config.ts';
import type { RobotContext } from '../../../src/platforms/hetzner-robot/context.ts';
import { type RobotFixture, type RobotSeedInput, startRobotFixture } from '../../world/robot/robot-fixture.ts';

/** The numbers of the servers in the simulator's default seed. */
export const [firstServer, secondServer, thirdServer, foreignServer] = [3140011, 3140012, 3140013, 3140014] as const;

export interface RobotHarness extends RobotFixture {
  /** With the correct password by default. */
  connect(given?: {
    readonly user?: string;
    readonly password?: string;
    readonly servers?: Iterable<number>;
    readonly failovers?: readonly string[];
    readonly scope?: RobotScope;
  }): RobotClient;
  /** The context of checks and steps, with the correct password. `section` overrides fields of the platform section. */
  ground(section?: object): RobotContext;
  /** The clock of the client equals that of the simulator. */
  readonly time: Clock;
  /** Every call that was sent, as reported to the metrics. */
  readonly ended: CompletedCall[];
  readonly options: { readonly signal: AbortSignal };
  /** Calls that reached the webservice, by name. */
  names(): readonly string[];
}

/** The real client and the simulated webservice, connected by HTTPS, with one clock that the test controls. */
export async function openRobotHarness(seed: RobotSeedInput = {}): Promise<RobotHarness> {
  const world = await startRobotFixture(seed);
  const { clock, simulator } = world;
  const time: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.now().getTime(),
    sleep: (ms, signal) => clock.sleep(ms / 1000, signal),
  };
  const ended: CompletedCall[] = [];
  const connections = new ProcessConnectionCache(new AbortController().signal, (call) => ended.push(call));
  const { user = '', password = '' } = simulator.line.credentials;
  // A test makes a thousand calls under one signal.
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const numbers = simulator.servers().map(({ number }) => number);
  const login = (name = user, word = password) => ({
    username: new SecretString(name),
    password: new SecretString(word),
  });
  return {
    ...world,
    ...{ time, ended, options: { signal } },
    connect: (given = {}) => {
      const credentials = login(given.user, given.password);
      const servers = new Set(given.servers ?? numbers);
      const scope = given.scope ?? { servers: () => servers, failovers: () => new Set(given.failovers) };
      const access = { credentialsName: 'robot', url: simulator.line.url, caBundle: simulator.ca };
      return connectRobot({ credentials, connections, clock: time, log: noLog }, access, scope);
    },
    ground: (section = {}) => ({
      config: RobotConfig.parse({
        ...{ url: simulator.line.url, caBundle: simulator.ca, credentialsRef: { name: 'robot' } },
        ...{ sizes: [{ name: 'any', hostSelector: {} }], ...section },
      }),
      ...{ credentials: login(), connections, clock: time, log: noLog, signal },
    }),
    names: () => world.switchboard.calls.map(({ name }) => name),
    close: async () => {
      await connections.close();
      await world.close();
    },
  };
}

/** Creates a harness per test; `closeAll` closes all of them. */
export function robotHarnesses(): { enter(seed?: RobotSeedInput): Promise<RobotHarness>; closeAll(): Promise<void> } {
  const open: RobotHarness[] = [];
  return {
    enter: async (seed) => {
      const one = await openRobotHarness(seed);
      open.push(one);
      return one;
    },
    closeAll: async () => {
      for (const one of open.splice(0)) await one.close();
    },
  };
}

/** The error code of a call, or `ok`. */
export const outcomeCode = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: unknown) => (error instanceof ProviderError ? error.code : `${error}`),
  );

/** The error of a call. */
export const thrownError = (call: Promise<unknown>): Promise<ProviderError> =>
  call.then(
    () => {
      throw new Error('nothing was thrown');
    },
    (error: ProviderError) => error,
  );
