import type { Firewall, Server } from '../state.ts';
import { later } from '../time.ts';
import { type Ask, type Endpoint, ok, serverIn } from './endpoint.ts';
import { conflict, invalidInput, notFound } from './errors.ts';
import { noRules, readRules } from './firewall-rules.ts';
import { text } from './form.ts';

const describe = (server: Server, firewall: Firewall) => ({
  firewall: {
    server_ip: server.address,
    server_number: server.number,
    status: firewall.isApplying ? 'in process' : firewall.status,
    filter_ipv6: firewall.filterIpv6,
    whitelist_hos: firewall.whitelistHos,
    port: 'main',
    // An empty array of PHP's.
    rules: firewall.isCleared ? {} : firewall.rules,
  },
});

function firewallIn(ask: Ask): { server: Server; firewall: Firewall } {
  const server = serverIn(ask);
  if (!server.firewall) throw notFound('FIREWALL_NOT_AVAILABLE', 'firewall not available for this server');
  return { server, firewall: server.firewall };
}

/** The switch takes a while; until then nothing else can be changed. Everything is replaced. */
function apply(ask: Ask, next: (firewall: Firewall) => Partial<Firewall>) {
  const { server, firewall } = firewallIn(ask);
  if (firewall.isApplying) throw conflict('FIREWALL_IN_PROCESS', 'the firewall is being updated');
  const change = next(firewall);
  Object.assign(firewall, change, { isApplying: true });
  later(ask.robot, ask.robot.delays.firewallSeconds, () => {
    firewall.isApplying = false;
  });
  return ok(describe(server, firewall));
}

/** A word for yes or no. */
export function flagIn({ form }: Ask, name: string, usual: boolean): boolean {
  const word = text(form, name) ?? String(usual);
  if (word !== 'true' && word !== 'false') throw invalidInput({ invalid: [name] });
  return word === 'true';
}

function wanted(ask: Ask, { filterIpv6, whitelistHos }: Firewall): Partial<Firewall> {
  const { account, form } = ask;
  const status = text(form, 'status');
  if (status === undefined) throw invalidInput({ missing: ['status'] });
  if (status !== 'active' && status !== 'disabled') throw invalidInput({ invalid: ['status'] });
  const common = { status, isCleared: false } as const;
  const templateId = text(form, 'template_id');
  if (templateId === undefined) {
    return {
      ...common,
      filterIpv6: flagIn(ask, 'filter_ipv6', filterIpv6),
      whitelistHos: flagIn(ask, 'whitelist_hos', whitelistHos),
      rules: readRules(form['rules']),
    };
  }
  const template = account.templates.get(Number(templateId));
  if (!template) throw notFound('FIREWALL_TEMPLATE_NOT_FOUND', 'template not found');
  const { rules } = template;
  return { ...common, rules, filterIpv6: template.filterIpv6, whitelistHos: template.whitelistHos };
}

export const firewallEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/firewall/{n}',
    group: 'firewall',
    handle: (ask) => {
      const { server, firewall } = firewallIn(ask);
      return ok(describe(server, firewall));
    },
  },
  {
    method: 'POST',
    path: '/firewall/{n}',
    group: 'firewall',
    handle: (ask) => apply(ask, (firewall) => wanted(ask, firewall)),
  },
  {
    method: 'DELETE',
    path: '/firewall/{n}',
    group: 'firewall',
    handle: (ask) =>
      apply(ask, () => ({
        status: 'disabled',
        filterIpv6: false,
        whitelistHos: true,
        rules: noRules,
        isCleared: true,
      })),
  },
];
