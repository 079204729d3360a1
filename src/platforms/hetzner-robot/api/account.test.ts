import { afterEach, describe, expect, it } from 'vitest';
import {
  firstServer,
  outcomeCode,
  robotHarnesses,
  secondServer,
  thirdServer,
  thrownError,
} from '../../../../test/support/harness/robot-harness.ts';
import { waitForCondition } from '../../../../test/support/harness/scripted-http-server.ts';
import { formatDuration } from './call-budget.ts';

const { enter, closeAll } = robotHarnesses();
afterEach(closeAll);

const wrong = { password: 'not-this-one' };
const times = <T>(count: number, work: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => work(at));

describe('a wrong password', () => {
  it('H15: causes one failed login in total, so no address is locked out', async () => {
    const { connect, options, simulator, names, clock } = await enter();
    const calls = times(50, (at) =>
      outcomeCode(connect(wrong).getServer([firstServer, secondServer, thirdServer][at % 3] ?? 0, options)),
    );
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['ROBOT_CREDENTIALS_REFUSED']));
    await clock.pass(3600);
    expect(await outcomeCode(connect(wrong).listVSwitches(options))).toBe('ROBOT_CREDENTIALS_REFUSED');
    expect(names()).toHaveLength(1);
    expect(simulator.lockouts()).toEqual([]);
  });

  it('H18: does not block the right one, which is tried at once', async () => {
    const { connect, options } = await enter();
    const error = await thrownError(connect(wrong).listServers(options));
    expect([error.retry, error.message]).toEqual(['after-change', expect.stringContaining('Secret: robot.')]);
    expect(await outcomeCode(connect().listServers(options))).toBe('ok');
    expect(await outcomeCode(connect(wrong).listServers(options))).toBe('ROBOT_CREDENTIALS_REFUSED');
  });

  it('three in a row: the third waits until Robot forgets the first', async () => {
    const { connect, options, simulator, clock, names } = await enter();
    for (const password of ['wrong-1', 'wrong-2']) {
      expect(await outcomeCode(connect({ password }).listServers(options))).toBe('ROBOT_CREDENTIALS_REFUSED');
    }
    const later = await thrownError(connect({ password: 'wrong-3' }).listServers(options));
    expect([later.code, later.retryAfterSeconds]).toEqual(['ROBOT_LOGIN_POSTPONED', 610]);
    expect(names()).toHaveLength(2);
    await clock.pass(610);
    expect(await outcomeCode(connect().listServers(options))).toBe('ok');
    expect(simulator.lockouts()).toEqual([]);
  });

  it('is not tried again when the answer was lost', async () => {
    const { connect, options, simulator, switchboard, clock } = await enter();
    switchboard.fail('robot', /./, { kind: 'lose-reply' }, 50);
    for (let i = 0; i < 10; i += 1) {
      await outcomeCode(connect(wrong).getServer(firstServer, options));
      await clock.pass(5);
    }
    expect(simulator.lockouts()).toEqual([]);
    expect(switchboard.calls.length).toBeLessThanOrEqual(2);
  });

  it('affects at most two calls when the password changes during other calls', async () => {
    const { connect, options, simulator, switchboard } = await enter();
    const robot = connect();
    await robot.listServers(options);
    let seen = 0;
    switchboard.onCall(() => {
      seen += 1;
      if (seen === 10) simulator.changePassword('another-one');
    });
    const ends = await Promise.all(times(50, () => outcomeCode(robot.getServer(firstServer, options))));
    expect(ends.filter((end) => end === 'ok').length).toBeGreaterThanOrEqual(8);
    expect(ends.at(-1)).toBe('ROBOT_CREDENTIALS_REFUSED');
    expect(seen).toBeLessThanOrEqual(11);
    expect(simulator.lockouts()).toEqual([]);
  });

  it('is reported with a hint when the user is no webservice user', async () => {
    const { connect, options } = await enter();
    expect((await thrownError(connect({ user: 'K0123456' }).listServers(options))).message).toContain('begin with #');
  });

  it('never appears in an error, nor does the user name', async () => {
    const { connect, options, switchboard, simulator } = await enter();
    const user = '#ws+Wr1dRbt7';
    const { password = '' } = simulator.line.credentials;
    const login = Buffer.from(`${user}:${password}`).toString('base64');
    const message = `no ${user} with ${password}`;
    const body = { error: { status: 400, code: 'INVALID_INPUT', message } };
    const robot = connect();
    const shown: string[] = [];
    switchboard.fail('robot', /./, { kind: 'error', status: 400, body }, 1);
    shown.push(show(await thrownError(robot.listServers(options))));
    switchboard.fail('robot', /./, { kind: 'drop' }, 9);
    shown.push(show(await thrownError(robot.listServers(options))));
    shown.push(show(await thrownError(connect(wrong).listServers(options))));
    for (const text of shown)
      for (const secret of [user, password, wrong.password, login]) expect(text).not.toContain(secret);
  });
});

function show(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error);
  return `${error.stack} ${JSON.stringify({ ...error })} ${error.cause === undefined ? '' : show(error.cause)}`;
}

describe('an address that other clients have locked out', () => {
  it.each([
    ['unauthorized', 'ROBOT_CREDENTIALS_REFUSED', 2],
    ['forbidden', 'ROBOT_FORBIDDEN', 2],
    ['drop', 'ROBOT_UNREACHABLE', 4],
  ] as const)('reported as "%s" makes every call fail: %s', async (blocked, code, max) => {
    const { connect, options, ask, names, simulator, clock } = await enter({ behaviour: { blocked } });
    const robot = connect();
    await robot.listServers(options);
    for (let i = 0; i < 3; i += 1) await ask('GET /server', { login: 'x:y' });
    const before = names().length;
    const ends = await Promise.all(times(20, () => outcomeCode(robot.getServer(firstServer, options))));
    expect(new Set(ends)).toEqual(new Set([code]));
    expect(names().length - before).toBeLessThanOrEqual(max);
    await clock.pass(600);
    expect(await outcomeCode(robot.getServer(firstServer, options))).toBe(blocked === 'unauthorized' ? code : 'ok');
    expect(simulator.lockouts()).toHaveLength(1);
  });
});

describe('rate limits', () => {
  it('are kept below those of Robot, so that other clients have calls left', async () => {
    const { connect, options, simulator, ended, ask } = await enter();
    const robot = connect();
    const ends = await Promise.all(times(60, () => outcomeCode(robot.renameServer(firstServer, 'a', options))));
    expect(new Set(ends)).toEqual(new Set(['ok']));
    for (let at = 0; at < 200; at += 1) await outcomeCode(robot.getServer(firstServer, options));
    expect(simulator.calls()).toEqual({ 'POST /server': 60, 'GET /server': 180 });
    const error = await thrownError(robot.getServer(secondServer, options));
    expect([error.code, error.retryAfterSeconds]).toEqual(['ROBOT_BUDGET_SPENT', 300]);
    expect(error.message).toMatch(/GET \/server\/\{n\}: position 2 of 2, in about 61 minutes\.$/);
    const allowances = ended.map(({ allowance }) => allowance);
    const left = allowances.map((one) => [one?.owner, one?.name, one?.remaining()].join(' '));
    expect([...new Set(left)]).toEqual(['robot POST /server 120', 'robot GET /server 0']);
    expect((await ask(`GET /server/${firstServer}`)).status).toBe(200);
  });

  it.each(['max_request', 'max_requests'])(
    'H16: named by Robot (%s) pause one kind of call for the named time',
    async (rateLimitField) => {
      const { connect, options, clock, names } = await enter({
        behaviour: { rateLimitField },
        limits: { 'GET /reset': 3 },
      });
      const robot = connect();
      for (let i = 0; i < 3; i += 1) await robot.getReset(firstServer, options);
      const error = await thrownError(robot.getReset(firstServer, options));
      expect([error.code, error.retryAfterSeconds, error.retry]).toEqual(['ROBOT_RATE_LIMITED', 300, 'backoff']);
      expect(error.message).toMatch(/position 1 of 1, in about 6[01] minutes\.$/);
      const again = await thrownError(robot.getReset(secondServer, options));
      expect([again.code, again.retryAfterSeconds]).toEqual(['ROBOT_RATE_LIMITED', 300]);
      expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ok');
      await clock.pass(3599);
      expect(await outcomeCode(robot.getReset(secondServer, options))).toBe('ROBOT_RATE_LIMITED');
      expect(names().filter((name) => name === 'GET /reset/{n}')).toHaveLength(4);
      await clock.pass(10);
      expect(await outcomeCode(robot.getReset(secondServer, options))).toBe('ok');
    },
  );

  it.each([403, 429])('without an error body (status %i) pause calls for five minutes', async (status) => {
    const { connect, options, clock, switchboard } = await enter();
    const robot = connect();
    switchboard.fail('robot', /^GET \/boot/, { kind: 'error', status, body: '' });
    const error = await thrownError(robot.getBoot(firstServer, options));
    expect([error.code, error.retryAfterSeconds]).toEqual(['ROBOT_RATE_LIMITED', 300]);
    expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ok');
    await clock.pass(295);
    expect(await outcomeCode(robot.getBoot(firstServer, options))).toBe('ROBOT_RATE_LIMITED');
    await clock.pass(5);
    expect(await outcomeCode(robot.getBoot(firstServer, options))).toBe('ok');
  });

  it('are waited for when a call is available in a few seconds', async () => {
    const { connect, options, clock } = await enter();
    const robot = connect();
    for (let at = 0; at < 45; at += 1) await robot.reset(firstServer, 'hw', options);
    await clock.pass(3603);
    const call = outcomeCode(robot.reset(secondServer, 'hw', options));
    await clock.pass(3);
    expect(await call).toBe('ok');
  });

  it('give twenty servers their resets in order of arrival, each with its position and time', async () => {
    const servers = times(64, (at) => ({ number: 1001 + at }));
    const { connect, options, clock, switchboard } = await enter({ servers });
    const robot = connect();
    for (let at = 0; at < 50; at += 1) {
      await robot.reset(1001, 'hw', options);
      await clock.pass(60);
    }
    const line = times(20, (at) => 1020 + ((at * 7) % 20));
    for (const [at, number] of line.entries()) {
      const error = await thrownError(robot.reset(number, 'hw', options));
      expect(error.message).toContain(`position ${at + 1} of ${at + 1}, in ${formatDuration(605 + at * 60)}.`);
    }
    const from = switchboard.calls.length;
    const due = new Map(line.map((number) => [number, 0]));
    const start = clock.now().getTime();
    const seconds = () => (clock.now().getTime() - start) / 1000;
    // The last callers retry first, so a caller that is not held back would pass the others.
    while (due.size > 0) {
      await clock.pass(5);
      for (const number of [...due.keys()].reverse()) {
        if (seconds() < (due.get(number) ?? 0)) continue;
        const error = await robot.reset(number, 'hw', options).then(
          () => undefined,
          (thrown) => thrown,
        );
        if (error) due.set(number, seconds() + error.retryAfterSeconds);
        else due.delete(number);
      }
    }
    const served = switchboard.calls.slice(from).map(({ detail }) => Number((detail as { server: string }).server));
    expect(served).toEqual(line);
    expect(seconds()).toBeLessThan(605 + 20 * 60 + 60);
  });
});

describe('without an answer', () => {
  it('a webservice in maintenance gets one attempt at a time, with growing pauses', async () => {
    const { connect, options, simulator, names, clock } = await enter();
    const robot = connect();
    await robot.listServers(options);
    simulator.setMaintenance(true);
    const before = names().length;
    for (let at = 0; at < 600; at += 1) {
      const ends = times(10, () => outcomeCode(robot.getServer(firstServer, options)));
      expect(new Set(await Promise.all(ends))).toEqual(new Set(['ROBOT_UNAVAILABLE']));
      await clock.pass(1);
    }
    expect(names().length - before).toBeLessThan(30);
    simulator.setMaintenance(false);
    await clock.pass(60);
    expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ok');
    expect(new Set(await Promise.all(times(10, () => outcomeCode(robot.getServer(firstServer, options)))))).toEqual(
      new Set(['ok']),
    );
  });

  it('the pause follows the Retry-After header', async () => {
    const { connect, options, switchboard, clock } = await enter();
    const robot = connect();
    const headers = { 'retry-after': '120' };
    switchboard.fail('robot', /./, { kind: 'error', status: 503, body: '', headers });
    expect((await thrownError(robot.listServers(options))).retryAfterSeconds).toBe(120);
    await clock.pass(119);
    expect(await outcomeCode(robot.listServers(options))).toBe('ROBOT_UNAVAILABLE');
    await clock.pass(1);
    expect(await outcomeCode(robot.listServers(options))).toBe('ok');
  });

  it('a hanging call delays other callers for three seconds at most', async () => {
    const { connect, options, switchboard, clock } = await enter();
    const robot = connect();
    switchboard.fail('robot', /./, { kind: 'silence', milliseconds: 100_000 });
    const stop = new AbortController();
    const hanging = outcomeCode(robot.getServer(firstServer, { signal: stop.signal }));
    await waitForCondition(() => switchboard.calls.length === 1, 'the call hangs');
    const others = times(5, () => thrownError(robot.getServer(secondServer, options)));
    await clock.pass(3);
    for (const error of await Promise.all(others)) {
      expect([error.code, error.retryAfterSeconds]).toEqual(['ROBOT_BUSY', 3]);
    }
    stop.abort(new Error('shutting down'));
    expect(await hanging).toBe('Error: shutting down');
    expect(await outcomeCode(robot.getServer(secondServer, options))).toBe('ok');
  });

  it('a timeout pauses all calls for a moment', async () => {
    const { connect, options, switchboard, clock } = await enter();
    const robot = connect();
    await robot.listServers(options);
    switchboard.fail('robot', /./, { kind: 'silence', milliseconds: 100_000 });
    const error = await thrownError(robot.getServer(firstServer, { ...options, seconds: 0.05 }));
    expect(error.code).toBe('DEADLINE_EXCEEDED');
    const other = await thrownError(robot.getServer(secondServer, options));
    expect(other.code).toBe('ROBOT_UNREACHABLE');
    await clock.pass(1);
    expect(await outcomeCode(robot.getServer(secondServer, options))).toBe('ok');
  });

  it.each(['drop', 'lose-reply'] as const)('a read is retried once (%s)', async (kind) => {
    const { connect, options, switchboard, names } = await enter();
    const robot = connect();
    switchboard.fail('robot', /./, { kind });
    expect(await outcomeCode(robot.getServer(firstServer, options))).toBe('ok');
    expect(names()).toHaveLength(2);
  });

  it('a change is never sent twice', async () => {
    const { connect, options, switchboard, simulator, names } = await enter();
    const robot = connect();
    await robot.listServers(options);
    switchboard.fail('robot', /./, { kind: 'lose-reply' });
    expect(await outcomeCode(robot.reset(firstServer, 'power_long', options))).toBe('ROBOT_OUTCOME_UNKNOWN');
    expect(names().filter((name) => name.startsWith('POST'))).toHaveLength(1);
    expect(simulator.servers()[0]?.isOn).toBe(false);
    expect(await outcomeCode(robot.getReset(firstServer, options))).toBe('ok');
  });

  it('calls succeed after the webservice restarts', async () => {
    const { connect, options, simulator, clock } = await enter();
    const robot = connect();
    await robot.listServers(options);
    await simulator.restart();
    await outcomeCode(robot.listServers(options));
    await clock.pass(60);
    expect(await outcomeCode(robot.listServers(options))).toBe('ok');
  });

  it('a closed connection makes no calls', async () => {
    const fixture = await enter();
    const robot = fixture.connect();
    await robot.listServers(fixture.options);
    await fixture.close();
    expect(await outcomeCode(robot.listServers(fixture.options))).toBe('ROBOT_UNREACHABLE');
  });
});

describe('metrics', () => {
  it('have each call that was sent, with its endpoint and outcome', async () => {
    const { connect, options, ended } = await enter();
    const robot = connect({ servers: [firstServer] });
    await robot.getServer(firstServer, options);
    await outcomeCode(robot.getVSwitch(1, options));
    await outcomeCode(robot.getServer(secondServer, options));
    expect(ended.map(({ system, name, result }) => [system, name, result])).toEqual([
      ['hetzner-robot', 'GET /server/{n}', 'ok'],
      ['hetzner-robot', 'GET /vswitch/{id}', 'ROBOT_NOT_FOUND'],
    ]);
    expect(JSON.stringify(ended)).not.toContain(String(firstServer));
  });
});
