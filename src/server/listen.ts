import type { FastifyInstance } from 'fastify';

/** Where a server listens. */
export interface BindAddress {
  /** Address or host name; empty means all addresses of the machine. */
  readonly host: string;
  readonly port: number;
}

/** Starts listening; returns the URL. Close the app to stop. */
export const listen = (app: FastifyInstance, { host, port }: BindAddress): Promise<string> =>
  withBindHost(host, (one) => app.listen({ host: one, port }));

/** Calls `open` with the host, or with that for all addresses of the machine. */
export async function withBindHost<T>(host: string, open: (host: string) => Promise<T>): Promise<T> {
  if (host) return await open(host);
  try {
    return await open('::');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL') throw error;
    return await open('0.0.0.0'); // A machine without IPv6.
  }
}
