import { ownsAddress } from './addresses.ts';
import { type Ask, created, type Endpoint, empty, ok, serversOf } from './endpoint.ts';
import { conflict, invalidInput, notFound } from './errors.ts';
import { text } from './form.ts';

const describe = (ip: string, ptr: string) => ({ rdns: { ip, ptr } });

function ipIn(ask: Ask): string {
  const ip = ask.params['ip'] ?? '';
  if (!ownsAddress(ask, ip)) throw notFound('IP_NOT_FOUND', 'ip not found');
  return ip;
}

function pointerIn(ask: Ask): { ip: string; ptr: string } {
  const ip = ipIn(ask);
  const ptr = ask.account.pointers.get(ip);
  if (ptr === undefined) throw notFound('RDNS_NOT_FOUND', 'no reverse DNS entry');
  return { ip, ptr };
}

function wanted({ form }: Ask): string {
  const ptr = text(form, 'ptr');
  if (ptr === undefined) throw invalidInput({ missing: ['ptr'] });
  if (!/^[a-z0-9._-]+$/i.test(ptr)) throw invalidInput({ invalid: ['ptr'] });
  return ptr;
}

function put(ask: Ask, mayExist: boolean) {
  const ip = ipIn(ask);
  const ptr = wanted(ask);
  const exists = ask.account.pointers.has(ip);
  if (exists && !mayExist) throw conflict('RDNS_ALREADY_EXISTS', 'there is a reverse DNS entry already');
  ask.account.pointers.set(ip, ptr);
  return exists ? ok(describe(ip, ptr)) : created(describe(ip, ptr));
}

function list(ask: Ask) {
  const serverIp = ask.query.get('server_ip');
  const server = serversOf(ask.robot, ask.account).find(({ address }) => address === serverIp);
  const entries = [...ask.account.pointers].filter(
    ([ip]) => serverIp === null || server?.ips.some((one) => one.ip === ip),
  );
  return ok(entries.map(([ip, ptr]) => describe(ip, ptr)));
}

export const rdnsEndpoints: readonly Endpoint[] = [
  { method: 'GET', path: '/rdns', group: 'rdns', handle: list },
  {
    method: 'GET',
    path: '/rdns/{ip}',
    group: 'rdns',
    handle: (ask) => {
      const { ip, ptr } = pointerIn(ask);
      return ok(describe(ip, ptr));
    },
  },
  { method: 'PUT', path: '/rdns/{ip}', group: 'rdns', handle: (ask) => put(ask, false) },
  { method: 'POST', path: '/rdns/{ip}', group: 'rdns', handle: (ask) => put(ask, true) },
  {
    method: 'DELETE',
    path: '/rdns/{ip}',
    group: 'rdns',
    handle: (ask) => {
      ask.account.pointers.delete(pointerIn(ask).ip);
      return empty;
    },
  },
];
