/** A text without what differs from life to life: ids, and hashes that an id has gone into. */
export const maskIds = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/[0-9a-f]{64}/g, '<sha256>')
    .replace(/02(:[0-9a-f]{2}){5}/g, '<mac>')
    .replace(/seed-[0-9a-f]{16}/g, 'seed')
    .replace(/(main_[a-z0-9]{8}_[a-z]+_\d)_[a-z0-9]{8}/g, '$1')
    // What a server is called while a Machine of one installation has it.
    .replace(/cpt\.[a-z0-9]{8}\./g, 'cpt.<installation>.')
    .replace(/(images\/[\d.]+)_[a-z0-9]{8}/g, '$1')
    .replace(/(\/events\/[^/]+)\.[a-z0-9]{8}$/, '$1')
    // Rooms have any port, and each life has nodes of its own.
    .replace(/(127\.0\.0\.1|127\.42\.0\.\d+):\d+/g, '$1')
    .replace(/127\.42\.1\d\d\./g, '<subnet>.');
