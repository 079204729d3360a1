import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { findCaBundleProblem } from '../../../talos/config/machine-config.ts';
import { toUrl } from '../../../talos/config/schema/formats.ts';
import { invalidField } from './invalid-field.ts';

/** Registries and proxy of the nodes, beyond their schema. */
export const checkEgress = ({ talos: { registries, proxy } }: ProviderConfigSpec): Diagnostic[] => [
  ...registries.mirrors.flatMap(({ endpoints }, i) =>
    endpoints.flatMap((url, j) => checkEndpoint(url, `talos.registries.mirrors[${i}].endpoints[${j}]`)),
  ),
  ...checkCaBundle(registries),
  ...(proxy ? checkProxy(proxy) : []),
];

const checkEndpoint = (text: string, field: string): Diagnostic[] => {
  const url = toUrl(text);
  return url && url.search === '' && url.hash === ''
    ? []
    : [invalidField(field, 'Use a URL without query and fragment, like https://mirror.example.org.')];
};

function checkCaBundle({ caBundle, mirrors }: ProviderConfigSpec['talos']['registries']): Diagnostic[] {
  if (caBundle === undefined) return [];
  const field = 'talos.registries.caBundle';
  if (mirrors.length === 0)
    return [invalidField(field, 'It is for the endpoints of talos.registries.mirrors: add some.')];
  const problem = findCaBundleProblem(caBundle);
  return problem === undefined ? [] : [invalidField(field, problem)];
}

function checkProxy({ http, https }: NonNullable<ProviderConfigSpec['talos']['proxy']>): Diagnostic[] {
  if (http === undefined && https === undefined)
    return [invalidField('talos.proxy', 'It has no proxy: set http or https, or omit it.')];
  return Object.entries({ http, https }).flatMap(([name, text]) => {
    const url = toUrl(text);
    const isPlain = url && ['', '/'].includes(url.pathname) && url.search === '' && url.hash === '';
    if (text === undefined || isPlain) return [];
    return [
      invalidField(`talos.proxy.${name}`, 'Use a URL without path and query, like http://proxy.example.org:3128.'),
    ];
  });
}
