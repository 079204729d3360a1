import { request } from 'undici';

/** The requests to API servers by the provider whose metrics are at `address`, without its Lease. */
export async function countApiRequests(address: string): Promise<{ readonly reads: number; readonly writes: number }> {
  const { body } = await request(`http://${address}/metrics`);
  const counted = { reads: 0, writes: 0 };
  const lines = (await body.text()).matchAll(/^rest_client_requests_total\{.*method="(\w+)",server="(\w+)"\} (\d+)$/gm);
  for (const [, method, server, count] of lines) {
    if (server !== 'lease') counted[method === 'GET' ? 'reads' : 'writes'] += Number(count);
  }
  return counted;
}

/** The number of calls of all kinds. */
export const sumCounts = (calls: Readonly<Record<string, number>>): number =>
  Object.values(calls).reduce((sum, n) => sum + n, 0);
