import { conflict, invalidInput } from './errors.ts';
import { arrays, type FormArray, type FormValue, text } from './form.ts';

const fields = [
  'ip_version',
  'name',
  'dst_ip',
  'src_ip',
  'dst_port',
  'src_port',
  'protocol',
  'tcp_flags',
  'action',
] as const;
const allowed: Readonly<Record<string, RegExp>> = {
  ip_version: /^ipv[46]$/,
  protocol: /^(?:tcp|udp|gre|icmp|ipip|ah|esp)$/,
  action: /^(?:accept|discard)$/,
  dst_port: /^\d{1,5}(?:-\d{1,5})?$/,
  src_port: /^\d{1,5}(?:-\d{1,5})?$/,
};
const directions = ['input', 'output'] as const;
/** On the switch port. */
const mostRules = 10;

/** Null is any. */
export type FirewallRule = Readonly<Record<(typeof fields)[number], string | null>>;
export interface FirewallRules {
  readonly input: readonly FirewallRule[];
  readonly output: readonly FirewallRule[];
}

export const noRules: FirewallRules = { input: [], output: [] };

/** Reads `rules[input][0][action]=accept` and its like. Throws a RobotError that names the field. */
export function readRules(value: FormValue | undefined): FirewallRules {
  const given: FormArray = typeof value === 'object' ? value : {};
  const [input = [], output = []] = directions.map((direction) =>
    arrays(given[direction]).map((rule, index) => readRule(rule, `rules[${direction}][${index}]`)),
  );
  if (input.length > mostRules || output.length > mostRules) {
    throw conflict('FIREWALL_RULE_LIMIT_EXCEEDED', 'too many rules');
  }
  return { input, output };
}

function readRule(given: FormArray, path: string): FirewallRule {
  const entries = fields.map((field) => [field, text(given, field) || null] as const);
  const rule = Object.fromEntries(entries) as FirewallRule;
  if (rule.action === null) throw invalidInput({ missing: [`${path}[action]`] });
  const invalid = entries.flatMap(([field, value]) =>
    value === null || (allowed[field]?.test(value) ?? true) ? [] : [`${path}[${field}]`],
  );
  const addresses = [rule.dst_ip, rule.src_ip].some((ip) => ip !== null);
  if (rule.protocol !== null && rule.ip_version === null) invalid.push(`${path}[ip_version]`);
  if (rule.ip_version === 'ipv6' && addresses) invalid.push(`${path}[dst_ip]`);
  if (rule.ip_version === 'ipv6' && rule.protocol === 'icmp') invalid.push(`${path}[protocol]`);
  if (invalid.length > 0) throw invalidInput({ invalid });
  return rule;
}
