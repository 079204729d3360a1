/** Replaces the parts of a text that differ between runs: ids, and hashes that contain an id. */
export const maskIds = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/[0-9a-f]{64}/g, '<sha256>')
    .replace(/02(:[0-9a-f]{2}){5}/g, '<mac>')
    .replace(/seed-[0-9a-f]{16}/g, 'seed')
    .replace(/(main_[a-z0-9]{8}_[a-z]+_\d)_[a-z0-9]{8}/g, '$1')
    // The name of a server while a Machine of one installation has it.
    .replace(/cpt\.[a-z0-9]{8}\./g, 'cpt.<installation>.')
    .replace(/(images\/[\d.]+)_[a-z0-9]{8}/g, '$1')
    .replace(/(\/events\/[^/]+)\.[a-z0-9]{8}$/, '$1')
    // Simulators have random ports, and each run has its own subnet.
    .replace(/(127\.0\.0\.1|127\.42\.0\.\d+):\d+/g, '$1')
    .replace(/127\.42\.1\d\d\./g, '<subnet>.');
