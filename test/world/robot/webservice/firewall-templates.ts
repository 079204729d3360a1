import type { FirewallTemplate } from '../state.ts';
import { type Ask, created, type Endpoint, empty, filled, ok } from './endpoint.ts';
import { invalidInput, notFound } from './errors.ts';
import { flagIn } from './firewall.ts';
import { readRules } from './firewall-rules.ts';
import { text } from './form.ts';

const summary = ({ id, name, filterIpv6, whitelistHos, isDefault }: FirewallTemplate) => ({
  id,
  name,
  filter_ipv6: filterIpv6,
  whitelist_hos: whitelistHos,
  is_default: isDefault,
});

const describe = (template: FirewallTemplate) => ({
  firewall_template: { ...summary(template), rules: template.rules },
});

function templateIn({ account, params }: Ask): FirewallTemplate {
  const template = account.templates.get(Number(params['id']));
  if (!template) throw notFound();
  return template;
}

function wanted(ask: Ask): Omit<FirewallTemplate, 'id'> {
  const name = text(ask.form, 'name');
  if (name === undefined) throw invalidInput({ missing: ['name'] });
  return {
    name,
    filterIpv6: flagIn(ask, 'filter_ipv6', false),
    whitelistHos: flagIn(ask, 'whitelist_hos', false),
    isDefault: flagIn(ask, 'is_default', false),
    rules: readRules(ask.form['rules']),
  };
}

export const firewallTemplateEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/firewall/template',
    group: 'firewall',
    handle: ({ account }) =>
      ok(filled([...account.templates.values()].map((template) => ({ firewall_template: summary(template) })))),
  },
  {
    method: 'POST',
    path: '/firewall/template',
    group: 'firewall',
    handle: (ask) => {
      const template = { id: ask.robot.nextId++, ...wanted(ask) };
      ask.account.templates.set(template.id, template);
      return created(describe(template));
    },
  },
  {
    method: 'GET',
    path: '/firewall/template/{id}',
    group: 'firewall',
    handle: (ask) => ok(describe(templateIn(ask))),
  },
  {
    method: 'POST',
    path: '/firewall/template/{id}',
    group: 'firewall',
    handle: (ask) => {
      const template = templateIn(ask);
      Object.assign(template, wanted(ask));
      return ok(describe(template));
    },
  },
  {
    method: 'DELETE',
    path: '/firewall/template/{id}',
    group: 'firewall',
    handle: (ask) => {
      ask.account.templates.delete(templateIn(ask).id);
      return empty;
    },
  },
];
