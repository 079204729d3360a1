import type { FastifyInstance } from 'fastify';

/** Where a server listens. */
export interface BindAddress {
  /** Address or host name; empty means all addresses of the machine. */
  readonly host: string;
  readonly port: number;
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
