import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { errorCodeOf, ScriptedNas, useScriptedNas } from '../../../../test/support/harness/scripted-nas.ts';
import { issueServingCertificate } from '../../../../test/world/truenas/protocol/serving-certificate.ts';
import { CertificatePin } from '../../../lib/net/certificate-pin.ts';

const at = useScriptedNas();

/** The self-signed certificate of a new system, for localhost, and a client that trusts no certificate. */
async function untrusted(): Promise<X509Certificate> {
  const certificate = await issueServingCertificate('localhost', 'nobody');
  await at.nas.close();
  await at.present(certificate);
  at.nas = at.open('');
  return new X509Certificate(certificate.cert);
}

describe('a login', () => {
  it.each([
    ['AUTH_ERR', 'TRUENAS_KEY_REFUSED'],
    ['EXPIRED', 'TRUENAS_KEY_EXPIRED'],
    ['OTP_REQUIRED', 'TRUENAS_OTP_REQUIRED'],
    ['REDIRECT', 'TRUENAS_LOGIN_DENIED'],
    ['DENIED', 'TRUENAS_LOGIN_DENIED'],
    ['SOMETHING_NEW', 'TRUENAS_LOGIN_DENIED'],
  ])('S40: reports the successful answer %s as a failed login (%s)', async (type, code) => {
    at.server.login = () => ({ response_type: type });
    expect(await errorCodeOf(at.read())).toBe(code);
    expect(at.server.named('system.info')).toHaveLength(0);
  });

  it('T3: refuses an untrusted certificate before it sends any credentials', async () => {
    const { fingerprint256 } = await untrusted();
    await expect(at.read()).rejects.toMatchObject({
      code: 'TRUENAS_TLS_UNTRUSTED',
      message: expect.stringContaining(`is ${fingerprint256}.`),
    });
    expect(at.server.calls).toHaveLength(0);
  });

  it('T3: trusts the certificate with the given fingerprint, whatever its issuer and names', async () => {
    const { fingerprint256 } = await untrusted();
    at.nas = at.open('', new CertificatePin(fingerprint256));
    await at.read();
    expect(at.server.named('auth.login_ex')).toHaveLength(1);
  });

  it('T3: sends nothing to a server with another certificate, and names both fingerprints', async () => {
    const { fingerprint256 } = await untrusted();
    const other = new CertificatePin('0'.repeat(64));
    at.nas = at.open('', other);
    await expect(at.read()).rejects.toMatchObject({
      code: 'TRUENAS_FINGERPRINT_DIFFERS',
      detail: `The fingerprint is ${fingerprint256}, not ${other.fingerprint}.`,
    });
    expect([at.server.calls, at.server.connections]).toEqual([[], 0]);
  });

  it('S27: follows no redirect, neither with the key nor without', async () => {
    const certificate = await issueServingCertificate('127.0.0.1', 'one for both');
    const elsewhere = new ScriptedNas(certificate);
    await at.present(certificate);
    at.nas = at.open(certificate.ca);
    try {
      at.server.redirect = `wss://${await elsewhere.listen()}/api/current`;
      expect(await errorCodeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
      expect([elsewhere.connections, elsewhere.calls, at.server.calls]).toEqual([0, [], []]);
    } finally {
      await elsewhere.close();
    }
  });

  it('refuses a server that answers the login in an unknown way', async () => {
    at.server.login = () => 'welcome';
    expect(await errorCodeOf(at.read())).toBe('TRUENAS_REPLY_UNKNOWN');
  });

  it('names the list to change when the address is not allowed', async () => {
    at.server.login = () => {
      for (const socket of at.server.sockets) socket.close(1008, 'You are not allowed to access this resource');
      return undefined;
    };
    expect(await errorCodeOf(at.read())).toBe('TRUENAS_LOGIN_DENIED');
  });
});
