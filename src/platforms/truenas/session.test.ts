import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { until } from '../../../test/support/rough-server.ts';
import { codeOf, ScriptedNas, scriptedNas, signal } from '../../../test/support/scripted-nas.ts';
import { issueServingCertificate } from '../../../test/world/truenas/certificate.ts';
import type { ProviderError } from '../../lib/errors.ts';
import { Pin } from '../../lib/pin.ts';

const at = scriptedNas();

/** The certificate of a system as TrueNAS makes its first one: for localhost, by nobody. A client without any trust in it. */
async function untrusted(): Promise<X509Certificate> {
  const certificate = await issueServingCertificate('localhost', 'nobody');
  await at.nas.close();
  await at.present(certificate);
  at.nas = at.open('');
  return new X509Certificate(certificate.cert);
}

describe('the connection', () => {
  it('T2: opens once for calls that come together, with the user and key of the Secret, and only then', async () => {
    expect(at.server.connections).toBe(0);
    await Promise.all([at.read(), at.read(), at.change()]);
    expect(at.server.connections).toBe(1);
    expect(at.server.named('auth.login_ex').map(({ params }) => params)).toEqual([
      [{ mechanism: 'API_KEY_PLAIN', username: 'root', api_key: '1-key', login_options: { user_info: true } }],
    ]);
  });

  it.each([
    ['AUTH_ERR', 'TRUENAS_KEY_REFUSED'],
    ['EXPIRED', 'TRUENAS_KEY_EXPIRED'],
    ['OTP_REQUIRED', 'TRUENAS_OTP_REQUIRED'],
    ['REDIRECT', 'TRUENAS_LOGIN_DENIED'],
    ['DENIED', 'TRUENAS_LOGIN_DENIED'],
    ['SOMETHING_NEW', 'TRUENAS_LOGIN_DENIED'],
  ])('S40: takes the successful answer %s for what it is: no entry (%s)', async (type, code) => {
    at.server.login = () => ({ response_type: type });
    expect(await codeOf(at.read())).toBe(code);
    expect(at.server.named('system.info')).toHaveLength(0);
  });

  it('tries a refused key once a minute at most, however many machines ask: no lock-out', async () => {
    at.server.login = () => ({ response_type: 'AUTH_ERR' });
    for (let i = 0; i < 20; i += 1) expect(await codeOf(at.read())).toBe('TRUENAS_KEY_REFUSED');
    expect(at.server.connections).toBe(1);
    await at.clock.advance(60_000);
    at.server.login = () => ({ response_type: 'SUCCESS' });
    await at.read();
    expect(at.server.connections).toBe(2);
  });

  it('T3: refuses a certificate that nobody vouches for, before it says who it is', async () => {
    const { fingerprint256 } = await untrusted();
    await expect(at.read()).rejects.toMatchObject({
      code: 'TRUENAS_TLS_UNTRUSTED',
      message: expect.stringContaining(`is ${fingerprint256}.`),
    });
    expect(at.server.calls).toHaveLength(0);
  });

  it('T3: trusts the certificate that is named by its fingerprint, whoever made it and whatever its names', async () => {
    const { fingerprint256 } = await untrusted();
    at.nas = at.open('', new Pin(fingerprint256));
    await at.read();
    expect(at.server.named('auth.login_ex')).toHaveLength(1);
  });

  it('T3: says nothing to one that shows another certificate, and names both', async () => {
    const { fingerprint256 } = await untrusted();
    const other = new Pin('0'.repeat(64));
    at.nas = at.open('', other);
    await expect(at.read()).rejects.toMatchObject({
      code: 'TRUENAS_FINGERPRINT_DIFFERS',
      detail: `It is ${fingerprint256}, not ${other.fingerprint}.`,
    });
    expect([at.server.calls, at.server.connections]).toEqual([[], 0]);
  });

  it('S27: follows no redirect, neither with its key nor without', async () => {
    const certificate = await issueServingCertificate('127.0.0.1', 'one for both');
    const elsewhere = new ScriptedNas(certificate);
    await at.present(certificate);
    at.nas = at.open(certificate.ca);
    try {
      at.server.redirect = `wss://${await elsewhere.listen()}/api/current`;
      expect(await codeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
      expect([elsewhere.connections, elsewhere.calls, at.server.calls]).toEqual([0, [], []]);
    } finally {
      await elsewhere.close();
    }
  });

  it('T4: is not stormed when it was away: one attempt, then longer and longer pauses, at most half a minute', async () => {
    await at.server.close();
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const errors = await Promise.all(Array.from({ length: 50 }, () => at.read().catch((error: unknown) => error)));
      for (const error of errors) expect(error).toMatchObject({ code: 'TRUENAS_UNREACHABLE' });
      const pause = (errors[0] as ProviderError).retryAfterSeconds!;
      pauses.push(pause);
      await at.clock.advance(pause * 1000);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  });

  it.each([
    {
      trouble: 'could not be reached before',
      begin: async () => {
        at.server.login = () => 'hang-up';
        expect(await codeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
        await at.clock.advance(1000);
      },
    },
    {
      trouble: 'fell silent',
      begin: async () => {
        const { rpc } = await at.nas.session(signal());
        for (const socket of at.server.sockets) socket.terminate();
        await rpc.closed;
      },
    },
  ])('makes nobody but the one who tries wait for long for a system that $trouble', async ({ begin }) => {
    await begin();
    at.server.login = () => 'silence';
    let first: unknown = 'waits';
    const attempt = codeOf(at.read()).then((code) => {
      first = code;
    });
    const others = [at.read(), at.read()].map(codeOf);
    await until(() => at.server.named('auth.login_ex').length === 2, 'the second attempt is made');
    await at.clock.advance(3000);
    expect(await Promise.all(others)).toEqual(['TRUENAS_UNREACHABLE', 'TRUENAS_UNREACHABLE']);
    expect(await codeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
    expect(first).toBe('waits');
    await at.nas.close();
    await attempt;
  });

  it('lets those through who waited for an attempt that succeeds', async () => {
    at.server.login = () => 'hang-up';
    await codeOf(at.read());
    await at.clock.advance(1000);
    at.server.login = () => ({ response_type: 'SUCCESS' });
    expect(await Promise.all([at.read(), at.read(), at.read()])).toHaveLength(3);
    expect(at.server.connections).toBe(2);
  });

  it('is closed for good with the process, and what is in hand then ends', async () => {
    at.server.script = () => 'silence';
    const pending = codeOf(at.change());
    await until(() => at.server.named('vm.create').length === 1, 'the call is in hand');
    await at.nas.close();
    expect(await pending).toBe('TRUENAS_OUTCOME_UNKNOWN');
    expect(await codeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
    expect(at.server.connections).toBe(1);
  });

  it('to something that answers the login in another way is not taken for one', async () => {
    at.server.login = () => 'welcome';
    expect(await codeOf(at.read())).toBe('TRUENAS_REPLY_UNKNOWN');
  });

  it('says which list to change when the address is not let in', async () => {
    at.server.login = () => {
      for (const socket of at.server.sockets) socket.close(1008, 'You are not allowed to access this resource');
      return undefined;
    };
    expect(await codeOf(at.read())).toBe('TRUENAS_LOGIN_DENIED');
  });

  /** Something that the client has to read, sent after the answer to a ping: when it has come, so has that. */
  const roundTrip = async (id: number) => {
    const job = { id, method: 'm', arguments: [], state: 'SUCCESS' };
    const params = { msg: 'changed', collection: 'core.get_jobs', id, fields: job };
    for (const socket of at.server.sockets) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'collection_update', params }));
    }
    await at.nas.jobs.wait(id, { signal: signal(), seconds: 5, method: 'm', firstArgument: '' });
  };

  it('T7, S41: is kept alive by pings, and closed when nobody asked for anything for five minutes', async () => {
    await at.read();
    const { rpc } = await at.nas.session(signal());
    let pings = 0;
    let closedWith: number | undefined;
    const [socket] = at.server.sockets;
    socket!.on('ping', () => {
      pings += 1;
    });
    socket!.on('close', (code) => {
      closedWith = code;
    });
    for (let beat = 1; rpc.open && beat < 30; beat += 1) {
      await at.clock.advance(20_000);
      await until(() => pings === beat || !rpc.open, 'it is pinged');
      if (rpc.open) await roundTrip(beat);
    }
    await until(() => closedWith !== undefined, 'it is closed');
    expect(closedWith).toBe(1000);
    expect(at.clock.monotonic()).toBeGreaterThan(300_000);
    await at.read();
    expect(at.server.connections).toBe(2);
  });

  it('is given up when a ping stays without an answer until the next is due', async () => {
    await at.read();
    const { rpc } = await at.nas.session(signal());
    for (const socket of at.server.sockets) socket.pause();
    await at.clock.advance(20_000);
    expect(rpc.open).toBe(true);
    await at.clock.advance(20_000);
    expect((await rpc.closed).closeCode).toBe(0);
  });

  it('is not given up by a process that stood still, and has not read yet what came meanwhile', async () => {
    await at.read();
    const { rpc } = await at.nas.session(signal());
    for (const socket of at.server.sockets) socket.pause();
    await at.clock.advance(20_000);
    at.clock.standStill(45_000);
    await at.clock.advance(1);
    expect(rpc.open).toBe(true);
    for (const socket of at.server.sockets) socket.resume();
    await roundTrip(1);
    await at.clock.advance(20_000);
    expect(rpc.open).toBe(true);
  });
});
