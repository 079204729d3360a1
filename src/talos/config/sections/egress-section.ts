import { linkAddressesOf } from '../../../engine/node.ts';
import { hostOfUrl } from '../../../lib/net/ip.ts';
import { toBase64 } from '../../secrets/pem.ts';
import type { ConfigDocument } from '../config-document.ts';
import type { MachineConfigInput, NodeProxy, NodeRegistries } from '../machine-config-input.ts';

/**
 * `registries` and `env` of `machine`: how a node reaches what is outside of its cluster. Both are deprecated since Talos
 * 1.12 and accepted unchanged up to 1.14; the documents that replace `env` need 1.13.
 */
export const buildEgressFields = (input: MachineConfigInput): ConfigDocument => ({
  ...(input.registries && input.registries.mirrors.length > 0 ? { registries: buildRegistries(input.registries) } : {}),
  ...(input.proxy ? { env: buildProxyVariables(input, input.proxy) } : {}),
});

function buildRegistries({ mirrors, caBundle }: NodeRegistries): ConfigDocument {
  const hosts = new Set(mirrors.flatMap(({ endpoints }) => endpoints.map((url) => new URL(url).host)));
  const tls = caBundle === undefined ? undefined : { ca: toBase64(caBundle) };
  return {
    mirrors: Object.fromEntries(
      mirrors.map(({ registry, endpoints, overridePath, skipFallback }) => [
        registry,
        {
          endpoints: [...endpoints],
          ...(overridePath ? { overridePath } : {}),
          ...(skipFallback ? { skipFallback } : {}),
        },
      ]),
    ),
    ...(tls ? { config: Object.fromEntries([...hosts].map((host) => [host, { tls }])) } : {}),
  };
}

/** In lower case, as Talos documents them. */
function buildProxyVariables(input: MachineConfigInput, { http, https, noProxy }: NodeProxy): ConfigDocument {
  return {
    ...(http === undefined ? {} : { http_proxy: http }),
    ...(https === undefined ? {} : { https_proxy: https }),
    no_proxy: [...new Set([...ownHosts(input), ...noProxy])].join(','),
  };
}

/** What a node must reach without the proxy, or its kubelet would look for the API server there. */
function ownHosts({ endpoint, network, hardware, vip }: MachineConfigInput): string[] {
  return [
    ...['localhost', '127.0.0.1', '::1'],
    hostOfUrl(new URL(endpoint)),
    ...(vip === undefined ? [] : [vip]),
    // With their prefixes they contain the other nodes of the subnet, which the Talos API forwards calls to.
    ...hardware.links.flatMap((link) => [...linkAddressesOf(link), ...(link.vlan?.addresses ?? [])]),
    ...network.podSubnets,
    ...network.serviceSubnets,
    `.${network.dnsDomain}`,
  ];
}
