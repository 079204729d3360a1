import type { FastifyInstance } from 'fastify';
import { ProviderError } from '../lib/errors.ts';

export interface BindAddress {
  /** `undefined`: every address of the machine. */
  readonly host: string | undefined;
  readonly port: number;
}

/**
 * An address in the form that Go's flags have: `:8081`, `127.0.0.1:8081`, `[::1]:8081`. `0` and the empty string mean
 * "do not serve". Throws a `CONFIG_INVALID` that names the flag.
 */
export function parseBindAddress(flag: string, text: string): BindAddress | undefined {
  if (text === '0' || text === '') return undefined;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65535) {
    throw new ProviderError('CONFIG_INVALID', `${flag}: "${text}" is not an address. Write :8081 or 127.0.0.1:8081.`);
  }
  return { host: match[1] || match[2] || undefined, port };
}

/** Starts listening; returns the URL. Close the app to stop. */
export async function listen(app: FastifyInstance, { host, port }: BindAddress): Promise<string> {
  if (host) return await app.listen({ host, port });
  try {
    return await app.listen({ host: '::', port });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL') throw error;
    return await app.listen({ host: '0.0.0.0', port }); // A machine without IPv6.
  }
}
