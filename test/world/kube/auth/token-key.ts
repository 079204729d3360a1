import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { asObject, type JsonObject } from '../json.ts';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Maximum number of cached tokens. */
const verifiedCacheLimit = 1000;

/** Signs and verifies the tokens of ServiceAccounts. */
export class TokenKey {
  readonly #private: KeyObject;
  readonly #public: KeyObject;
  readonly algorithm: 'RS256' | 'ES256';
  readonly keyId: string;
  /** Cache of verified tokens: verification is slow, and clients send the same token with each request. */
  readonly #good = new Set<string>();

  /** `pem`: an RSA or EC P-256 private key. */
  constructor(pem: string) {
    this.#private = createPrivateKey(pem);
    this.#public = createPublicKey(this.#private);
    this.algorithm = this.#private.asymmetricKeyType === 'ec' ? 'ES256' : 'RS256';
    this.keyId = createHash('sha256')
      .update(this.#public.export({ type: 'spki', format: 'der' }))
      .digest('base64url');
  }

  sign(claims: JsonObject): string {
    const head = `${encode({ alg: this.algorithm, kid: this.keyId })}.${encode(claims)}`;
    const key = { key: this.#private, dsaEncoding: 'ieee-p1363' } as const;
    return `${head}.${sign('sha256', Buffer.from(head), key).toString('base64url')}`;
  }

  /** The claims of a token that this key signed, without validation; undefined for any other text. */
  read(token: string): JsonObject | undefined {
    const [header = '', claims = '', signature = '', ...more] = token.split('.');
    if (more.length > 0 || !signature) return undefined;
    try {
      if (asObject(JSON.parse(fromBase64(header)))['alg'] !== this.algorithm) return undefined;
      if (!this.#good.has(token) && !this.#verify(`${header}.${claims}`, signature)) return undefined;
      const read = asObject(JSON.parse(fromBase64(claims)));
      if (this.#good.size >= verifiedCacheLimit) this.#good.clear();
      this.#good.add(token);
      return read;
    } catch (error) {
      // Not a token; any other error than invalid JSON is a bug.
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  #verify(text: string, signature: string): boolean {
    const key = { key: this.#public, dsaEncoding: 'ieee-p1363' } as const;
    return verify('sha256', Buffer.from(text), key, Buffer.from(signature, 'base64url'));
  }

  /** The document that the issuer serves at /openid/v1/jwks. */
  get jwks(): JsonObject {
    const jwk = this.#public.export({ format: 'jwk' });
    return { keys: [{ use: 'sig', kid: this.keyId, alg: this.algorithm, ...jwk }] };
  }
}

const fromBase64 = (text: string): string => Buffer.from(text, 'base64url').toString('utf8');
