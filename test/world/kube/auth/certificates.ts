import 'reflect-metadata';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto as never);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMilliseconds = 86_400_000;

export interface CertificatePair {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS#8. */
  readonly key: string;
}

/** A simulated CA, new for each run. */
export interface KubeAuthority extends CertificatePair {
  /** A serving certificate for these names and addresses. */
  issueServer(hosts: readonly string[]): Promise<CertificatePair>;
  /** A client certificate: CN is the user, each O a group. */
  issueClient(user: string, groups?: readonly string[]): Promise<CertificatePair>;
}

const toPem = async (keys: webcrypto.CryptoKeyPair): Promise<string> => {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${der.replace(/(.{64})/g, '$1\n').trimEnd()}\n-----END PRIVATE KEY-----\n`;
};

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;

const validity = () => ({
  notBefore: new Date(Date.now() - dayMilliseconds / 24),
  notAfter: new Date(Date.now() + 30 * dayMilliseconds),
});

export async function createKubeAuthority(name = 'world-kube-ca'): Promise<KubeAuthority> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    keys: keys,
    signingAlgorithm: algorithm,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const issue = async (subject: x509.JsonName, usage: x509.ExtendedKeyUsage, extensions: x509.Extension[]) => {
    const own = await newKeys();
    const issued = await x509.X509CertificateGenerator.create({
      subject,
      issuer: certificate.subject,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      ...validity(),
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([usage]),
        await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ...extensions,
      ],
    });
    return { cert: `${issued.toString('pem')}\n`, key: await toPem(own) };
  };
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: await toPem(keys),
    issueServer: (hosts) =>
      issue([{ CN: [hosts[0] ?? 'kube'] }], x509.ExtendedKeyUsage.serverAuth, [
        new x509.SubjectAlternativeNameExtension(
          hosts.map((host) => ({ type: /^[\d.]+$|:/.test(host) ? ('ip' as const) : ('dns' as const), value: host })),
        ),
      ]),
    issueClient: (user, groups = []) =>
      issue([...groups.map((group) => ({ O: [group] })), { CN: [user] }], x509.ExtendedKeyUsage.clientAuth, []),
  };
}

/** A serving certificate of a temporary CA, for tests: clients trust `ca`. */
export async function issueTestServingCertificate(host: string): Promise<CertificatePair & { ca: string }> {
  const authority = await createKubeAuthority();
  return { ...(await authority.issueServer([host, 'localhost'])), ca: authority.cert };
}

/**
 * A new P-256 key in PEM, for signing the tokens of ServiceAccounts. An RSA key would take a fifth of a second to
 * generate.
 */
export const newTokenKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
